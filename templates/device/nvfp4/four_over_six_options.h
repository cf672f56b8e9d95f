// The options of four over six (four_over_six.h) and of the bound that a global scale aims at.
/* diecast
option enum FOUR_OVER_SIX {off, mae, mse} = off   // two scales are tried, the smaller error stays
option int  BOUND {448, 256} = 448                // block scale that the global scale aims at
require PROFILE == te || FOUR_OVER_SIX == off     // four over six is defined by profile te
require (BOUND == 448 || FOUR_OVER_SIX != off     // bound 256 is defined by profile te with four over six,
         || PROFILE == modelopt)                  // and by modelopt
*/
#pragma once
