// Language models without experts.
#include <checkpoint/models/model_folder.h>

namespace diecast::testing {

std::vector<ModelFolder> dense_folders() {
  return {
      {"llama", R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.{0..1}.self_attn.{q,k,v,o}_proj.weight [64,64]
  ! model.layers.{0..1}.mlp.{gate,up}_proj.weight [96,64]
  ! model.layers.{0..1}.mlp.down_proj.weight [64,96]
    model.layers.{0..1}.{input,post_attention}_layernorm.weight [64]
    model.norm.weight [64]
    lm_head.weight [256,64])"},
      {"qwen", R"({"model_type": "qwen", "num_hidden_layers": 1})", R"(
    transformer.wte.weight [256,64]
  ! transformer.h.0.attn.c_attn.weight [192,64]
    transformer.h.0.attn.c_attn.bias [192]
  ! transformer.h.0.attn.c_proj.weight [64,64]
  ! transformer.h.0.mlp.{w1,w2}.weight [96,64]
  ! transformer.h.0.mlp.c_proj.weight [64,96]
    transformer.h.0.ln_{1,2}.weight [64]
    transformer.ln_f.weight [64]
    lm_head.weight [256,64])"},
      {"qwen2", R"({"model_type": "qwen2", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,o}_proj.weight [64,64]
  ! model.layers.0.self_attn.{k,v}_proj.weight [16,64]
    model.layers.0.self_attn.q_proj.bias [64]
    model.layers.0.self_attn.{k,v}_proj.bias [16]
  ! model.layers.0.mlp.{gate,up}_proj.weight [96,64]
  ! model.layers.0.mlp.down_proj.weight [64,96]
    lm_head.weight [256,64])"},
      {"qwen3", R"({"model_type": "qwen3", "num_hidden_layers": 1, "tie_word_embeddings": true})",
       R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    model.layers.0.self_attn.{q,k}_norm.weight [16]
  ! model.layers.0.mlp.{gate,up}_proj.weight [96,64]
  ! model.layers.0.mlp.down_proj.weight [64,96])"},
      {"phi", R"({"model_type": "phi", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q_proj,k_proj,v_proj,dense}.weight [64,64]
    model.layers.0.self_attn.{q_proj,k_proj,v_proj,dense}.bias [64]
  ! model.layers.0.mlp.fc1.weight [96,64]
    model.layers.0.mlp.fc1.bias [96]
  ! model.layers.0.mlp.fc2.weight [64,96]
    model.layers.0.mlp.fc2.bias [64]
    model.final_layernorm.weight [64]
    lm_head.weight [256,64]
    lm_head.bias [256])"},
      {"phi3", R"({"model_type": "phi3", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.qkv_proj.weight [96,64]
  ! model.layers.0.self_attn.o_proj.weight [64,64]
  ! model.layers.0.mlp.gate_up_proj.weight [192,64]
  ! model.layers.0.mlp.down_proj.weight [64,96]
    lm_head.weight [256,64])"},
      {"gemma2", R"({"model_type": "gemma2", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
  ! model.layers.0.mlp.{gate,up}_proj.weight [96,64]
  ! model.layers.0.mlp.down_proj.weight [64,96]
    model.layers.0.{pre,post}_feedforward_layernorm.weight [64])"},
      {"olmo2", R"({"model_type": "olmo2", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    model.layers.0.self_attn.{q,k}_norm.weight [64]
  ! model.layers.0.mlp.{gate,up}_proj.weight [96,64]
  ! model.layers.0.mlp.down_proj.weight [64,96]
    lm_head.weight [256,64])"},
      {"glm4", R"({"model_type": "glm4", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
  ! model.layers.0.mlp.gate_up_proj.weight [192,64]
  ! model.layers.0.mlp.down_proj.weight [64,96]
    lm_head.weight [256,64])"},
      {"chatglm", R"({"model_type": "chatglm", "num_layers": 1, "padded_vocab_size": 256})", R"(
    transformer.embedding.word_embeddings.weight [256,64]
  ! transformer.encoder.layers.0.self_attention.query_key_value.weight [96,64]
  ! transformer.encoder.layers.0.self_attention.dense.weight [64,64]
  ! transformer.encoder.layers.0.mlp.dense_h_to_4h.weight [192,64]
  ! transformer.encoder.layers.0.mlp.dense_4h_to_h.weight [64,96]
    transformer.encoder.final_layernorm.weight [64]
    transformer.output_layer.weight [256,64]
    transformer.rotary_pos_emb.inv_freq [8])"},
      {"starcoder2", R"({"model_type": "starcoder2", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
  ! model.layers.0.mlp.c_fc.weight [256,64]
    model.layers.0.mlp.c_fc.bias [256]
  ! model.layers.0.mlp.c_proj.weight [64,256]
    model.layers.0.mlp.c_proj.bias [64])"},
      {"gpt_bigcode", R"({"model_type": "gpt_bigcode", "n_layer": 1})", R"(
    transformer.wte.weight [256,64]
    transformer.wpe.weight [128,64]
  ! transformer.h.0.attn.c_attn.weight [96,64]
    transformer.h.0.attn.c_attn.bias [96]
  ! transformer.h.0.attn.c_proj.weight [64,64]
  ! transformer.h.0.mlp.c_fc.weight [256,64]
    transformer.h.0.mlp.c_fc.bias [256]
  ! transformer.h.0.mlp.c_proj.weight [64,256])"},
      {"falcon", R"({"model_type": "falcon", "num_hidden_layers": 1})", R"(
    transformer.word_embeddings.weight [256,64]
  ! transformer.h.0.self_attention.query_key_value.weight [96,64]
  ! transformer.h.0.self_attention.dense.weight [64,64]
  ! transformer.h.0.mlp.dense_h_to_4h.weight [256,64]
  ! transformer.h.0.mlp.dense_4h_to_h.weight [64,256]
    transformer.h.0.input_layernorm.{weight,bias} [64]
    lm_head.weight [256,64])"},
      {"bloom", R"({"model_type": "bloom", "n_layer": 1})", R"(
    word_embeddings.weight [256,64]
    word_embeddings_layernorm.{weight,bias} [64]
  ! h.0.self_attention.query_key_value.weight [192,64]
    h.0.self_attention.query_key_value.bias [192]
  ! h.0.self_attention.dense.weight [64,64]
  ! h.0.mlp.dense_h_to_4h.weight [256,64]
  ! h.0.mlp.dense_4h_to_h.weight [64,256]
    ln_f.{weight,bias} [64])"},
      {"mpt", R"({"model_type": "mpt", "n_layers": 1})", R"(
    transformer.wte.weight [256,64]
  ! transformer.blocks.0.attn.Wqkv.weight [192,64]
  ! transformer.blocks.0.attn.out_proj.weight [64,64]
  ! transformer.blocks.0.ffn.up_proj.weight [256,64]
  ! transformer.blocks.0.ffn.down_proj.weight [64,256]
    transformer.blocks.0.norm_{1,2}.weight [64]
    transformer.norm_f.weight [64])"},
      {"gpt_neox", R"({"model_type": "gpt_neox", "num_hidden_layers": 1, "vocab_size": 256})", R"(
    gpt_neox.embed_in.weight [256,64]
  ! gpt_neox.layers.0.attention.query_key_value.weight [192,64]
  ! gpt_neox.layers.0.attention.dense.weight [64,64]
    gpt_neox.layers.0.attention.bias [1,1,64,64] F32
  ! gpt_neox.layers.0.mlp.dense_h_to_4h.weight [256,64]
  ! gpt_neox.layers.0.mlp.dense_4h_to_h.weight [64,256]
    embed_out.weight [256,64])"},
      {"opt", R"({"model_type": "opt", "num_hidden_layers": 1})", R"(
    model.decoder.embed_tokens.weight [256,64]
    model.decoder.embed_positions.weight [130,64]
    model.decoder.project_in.weight [64,64]
  ! model.decoder.layers.0.self_attn.{q_proj,k_proj,v_proj,out_proj}.weight [64,64]
  ! model.decoder.layers.0.fc1.weight [256,64]
  ! model.decoder.layers.0.fc2.weight [64,256]
    model.decoder.layers.0.self_attn_layer_norm.weight [64])"},
      {"gpt2", R"({"model_type": "gpt2", "n_layer": 1})", R"(
    wte.weight [256,64] F32
    wpe.weight [64,64] F32
    h.0.attn.c_attn.weight [64,192] F32
    h.0.attn.c_attn.bias [192] F32
    h.0.attn.c_proj.weight [64,64] F32
    h.0.mlp.c_fc.weight [64,256] F32
    h.0.mlp.c_proj.weight [256,64] F32
    h.0.ln_1.weight [64] F32)",
       "stored transposed"},
      {"gpt2_without_config", "", R"(
    transformer.wte.weight [256,64] F32
    transformer.h.0.attn.c_attn.weight [64,192] F32
    transformer.h.0.attn.c_proj.weight [64,64] F32
    transformer.h.0.mlp.c_fc.weight [64,256] F32
    transformer.h.0.mlp.c_proj.weight [256,64] F32)",
       "stored transposed"},
      {"exaone", R"({"model_type": "exaone", "num_layers": 1})", R"(
    transformer.wte.weight [256,64]
  ! transformer.h.0.attn.attention.{q_proj,k_proj,v_proj,out_proj}.weight [64,64]
  ! transformer.h.0.mlp.c_fc_{0,1}.weight [96,64]
  ! transformer.h.0.mlp.c_proj.weight [64,96]
    lm_head.weight [256,64])"},
      {"internlm2", R"({"model_type": "internlm2", "num_hidden_layers": 1})", R"(
    model.tok_embeddings.weight [256,64]
  ! model.layers.0.attention.wqkv.weight [96,64]
  ! model.layers.0.attention.wo.weight [64,64]
  ! model.layers.0.feed_forward.{w1,w3}.weight [96,64]
  ! model.layers.0.feed_forward.w2.weight [64,96]
    model.layers.0.{attention,ffn}_norm.weight [64]
    output.weight [256,64])"},
      {"cohere2", R"({"model_type": "cohere2", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
  ! model.layers.0.mlp.{gate,up}_proj.weight [96,64]
  ! model.layers.0.mlp.down_proj.weight [64,96])"},
      {"baichuan", R"({"model_type": "baichuan", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.W_pack.weight [192,64]
  ! model.layers.0.self_attn.o_proj.weight [64,64]
  ! model.layers.0.mlp.{gate,up}_proj.weight [96,64]
  ! model.layers.0.mlp.down_proj.weight [64,96]
    lm_head.weight [256,64])"},
      {"mistral_consolidated", "", R"(
    tok_embeddings.weight [256,64]
  ! layers.{0..1}.attention.{wq,wk,wv,wo}.weight [64,64]
  ! layers.{0..1}.feed_forward.{w1,w3}.weight [96,64]
  ! layers.{0..1}.feed_forward.w2.weight [64,96]
    layers.{0..1}.{attention,ffn}_norm.weight [64]
    norm.weight [64]
    output.weight [256,64])",
       "", false},
  };
}

}  // namespace diecast::testing
