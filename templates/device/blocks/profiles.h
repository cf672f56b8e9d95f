// Whose bits a quantized matrix has. The profiles' formulas stand in templates/PROFILES.md, and their order here.
/* diecast
option enum PROFILE {te, pr546, modelopt, torchao, te_ref, te_fast,   // whose bits; see PROFILES.md
                     flashinfer_exact, flashinfer_fast, flashinfer_dsl_exact, flashinfer_dsl_fast} = te
let  FLASHINFER_DSL = PROFILE in {flashinfer_dsl_exact, flashinfer_dsl_fast}
let  FLASHINFER     = FLASHINFER_DSL || PROFILE in {flashinfer_exact, flashinfer_fast}
*/
#pragma once
