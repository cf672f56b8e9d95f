// Mixtures of experts, draft layers, compressed attention, state spaces.
#include <checkpoint/models/model_folder.h>

namespace diecast::testing {

std::vector<ModelFolder> mixture_folders() {
  return {
      {"mixtral", R"({"model_type": "mixtral", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    model.layers.0.block_sparse_moe.gate.weight [2,64]
  ! model.layers.0.block_sparse_moe.experts.{0..1}.{w1,w3}.weight [96,64]
  ! model.layers.0.block_sparse_moe.experts.{0..1}.w2.weight [64,96]
    lm_head.weight [256,64])"},
      {"qwen2_moe", R"({"model_type": "qwen2_moe", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    model.layers.0.mlp.gate.weight [2,64]
  ! model.layers.0.mlp.experts.{0..1}.{gate,up}_proj.weight [32,64]
  ! model.layers.0.mlp.experts.{0..1}.down_proj.weight [64,32]
  ! model.layers.0.mlp.shared_expert.{gate,up}_proj.weight [32,64]
  ! model.layers.0.mlp.shared_expert.down_proj.weight [64,32]
    model.layers.0.mlp.shared_expert_gate.weight [1,64]
    lm_head.weight [256,64])"},
      {"qwen3_next", R"({"model_type": "qwen3_next"})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.linear_attn.in_proj_qkvz.weight [256,64]
    model.layers.0.linear_attn.in_proj_ba.weight [16,64]
    model.layers.0.linear_attn.conv1d.weight [192,1,4]
    model.layers.0.linear_attn.{A_log,dt_bias} [8]
  ! model.layers.0.linear_attn.out_proj.weight [64,64]
    model.layers.0.mlp.gate.weight [2,64]
  ! model.layers.0.mlp.experts.{0..1}.{gate,up}_proj.weight [32,64]
  ! model.layers.0.mlp.experts.{0..1}.down_proj.weight [64,32]
    lm_head.weight [256,64]
    mtp.fc.weight [64,128]
    mtp.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    mtp.layers.0.mlp.experts.{0..1}.{gate,up}_proj.weight [32,64])"},
      {"deepseek_v3", R"({"model_type": "deepseek_v3", "num_hidden_layers": 2})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.{0..1}.self_attn.q_a_proj.weight [48,64]
  ! model.layers.{0..1}.self_attn.q_b_proj.weight [96,48]
  ! model.layers.{0..1}.self_attn.kv_a_proj_with_mqa.weight [40,64]
    model.layers.{0..1}.self_attn.kv_b_proj.weight [128,32]
  ! model.layers.{0..1}.self_attn.o_proj.weight [64,64]
  ! model.layers.0.mlp.{gate,up}_proj.weight [96,64]
  ! model.layers.0.mlp.down_proj.weight [64,96]
    model.layers.1.mlp.gate.weight [2,64]
    model.layers.1.mlp.gate.e_score_correction_bias [2] F32
  ! model.layers.1.mlp.experts.{0..1}.{gate,up}_proj.weight [32,64]
  ! model.layers.1.mlp.experts.{0..1}.down_proj.weight [64,32]
  ! model.layers.1.mlp.shared_experts.{gate,up}_proj.weight [32,64]
  ! model.layers.1.mlp.shared_experts.down_proj.weight [64,32]
    model.layers.2.{eh_proj,embed_tokens,shared_head.head}.weight [256,128]
    model.layers.2.{enorm,hnorm}.weight [64]
    model.layers.2.self_attn.{q_a,kv_a,o}_proj.weight [64,64]
    model.layers.2.mlp.experts.{0..1}.{gate,up}_proj.weight [32,64]
    lm_head.weight [256,64])"},
      {"deepseek_v3_without_count", R"({"model_type": "deepseek_v3"})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q_a,o}_proj.weight [64,64]
    model.layers.1.eh_proj.weight [64,128]
    model.layers.1.self_attn.{q_a,o}_proj.weight [64,64])"},
      {"deepseek_v32", R"({"model_type": "deepseek_v32", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q_a_proj,q_b_proj,kv_a_proj_with_mqa,o_proj}.weight [64,64]
    model.layers.0.self_attn.kv_b_proj.weight [64,64]
  ! model.layers.0.self_attn.indexer.wq_b.weight [64,64]
    model.layers.0.self_attn.indexer.{wk,weights_proj}.weight [64,64]
    model.layers.0.self_attn.indexer.k_norm.{weight,bias} [64]
    lm_head.weight [256,64])"},
      {"deepseek_v4", R"({"model_type": "deepseek_v4", "n_layers": 1, "vocab_size": 256})", R"(
    embed.weight [256,64]
    head.weight [256,64]
  ! layers.0.attn.{wq_a,wkv}.weight [32,64]
  ! layers.0.attn.wq_b.weight [64,32]
    layers.0.attn.wo_a.weight [64,64]
  ! layers.0.attn.wo_b.weight [64,64]
    layers.0.attn.compressor.{wkv,wgate}.weight [64,64]
    layers.0.attn.indexer.weights_proj.weight [64,64]
    layers.0.ffn.gate.weight [2,64]
  ! layers.0.ffn.experts.{0..1}.{w1,w3}.weight [32,64]
  ! layers.0.ffn.experts.{0..1}.w2.weight [64,32]
    mtp.0.e_proj.weight [64,64]
    mtp.0.attn.{wq_a,wkv}.weight [64,64]
    norm.weight [64])"},
      {"kimi_linear", R"({"model_type": "kimi_linear", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,f_a,b,g_a,g_b,o}_proj.weight [64,64]
    model.layers.0.self_attn.f_b_proj.weight [64,64]
    model.layers.0.self_attn.{q,k,v}_conv1d.weight [64,1,4]
    model.layers.0.self_attn.A_log [1,1,4,1] F32
    model.layers.0.block_sparse_moe.gate.weight [2,64]
  ! model.layers.0.block_sparse_moe.experts.{0..1}.{w1,w3}.weight [32,64]
  ! model.layers.0.block_sparse_moe.experts.{0..1}.w2.weight [64,32]
    lm_head.weight [256,64])"},
      {"kimi_k3", R"({"model_type": "kimi_k3", "num_hidden_layers": 2})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,f_a,b,g,o}_proj.weight [64,64]
    model.layers.0.self_attn.f_b_proj.weight [64,64]
  ! model.layers.1.self_attn.{q_a_proj,q_b_proj,kv_a_proj_with_mqa,g_proj,o_proj}.weight [64,64]
    model.layers.1.self_attn.kv_b_proj.weight [64,64]
  ! model.layers.{0..1}.mlp.{gate,up,down}_proj.weight [64,64]
    lm_head.weight [256,64])"},
      {"bailing_moe_v3", R"({"model_type": "bailing_moe_v3", "num_hidden_layers": 1})", R"(
    model.word_embeddings.weight [256,64]
  ! model.layers.0.attention.{q,k,v,b,f,g,o}_proj.weight [64,64]
    model.layers.0.attention.{q,k,v}_conv1d.weight [64,1,4]
    model.layers.0.mlp.gate.weight [2,64]
  ! model.layers.0.mlp.experts.{0..1}.{gate,up,down}_proj.weight [64,64]
    lm_head.weight [256,64])"},
      {"afmoe", R"({"model_type": "afmoe", "num_hidden_layers": 2})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.{0..1}.self_attn.{q,k,v,o,gate}_proj.weight [64,64]
  ! model.layers.0.mlp.{gate,up,down}_proj.weight [64,64]
    model.layers.1.mlp.router.gate.weight [2,64]
  ! model.layers.1.mlp.experts.{0..1}.{gate,up,down}_proj.weight [64,64]
  ! model.layers.1.mlp.shared_experts.{gate,up,down}_proj.weight [64,64]
    lm_head.weight [256,64])"},
      {"step3_text", R"({"model_type": "step3_text", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.o_proj.weight [64,64]
    model.layers.0.moe.gate.weight [2,64]
    model.layers.0.moe.{gate,up,down}_proj.weight [2,64,64]
  ! model.layers.0.share_expert.{gate,up,down}_proj.weight [64,64]
    lm_head.weight [256,64])"},
      {"glm4_moe", R"({"model_type": "glm4_moe", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    model.layers.0.mlp.gate.weight [2,64]
  ! model.layers.0.mlp.experts.{0..1}.{gate,up}_proj.weight [32,64]
  ! model.layers.0.mlp.experts.{0..1}.down_proj.weight [64,32]
    model.layers.1.eh_proj.weight [64,128]
    model.layers.1.self_attn.{q,k,v,o}_proj.weight [64,64]
    lm_head.weight [256,64])"},
      {"minimax_m2", R"({"model_type": "minimax_m2", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    model.layers.0.block_sparse_moe.gate.weight [2,64]
    model.layers.0.block_sparse_moe.e_score_correction_bias [2] F32
  ! model.layers.0.block_sparse_moe.experts.{0..1}.{w1,w3}.weight [32,64]
  ! model.layers.0.block_sparse_moe.experts.{0..1}.w2.weight [64,32]
    lm_head.weight [256,64])"},
      {"experts_of_odd_width", R"({"model_type": "qwen3_moe", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    model.layers.0.mlp.experts.{0..1}.{gate,up}_proj.weight [24,64]
    model.layers.0.mlp.experts.{0..1}.down_proj.weight [64,24])"},
      {"dbrx", R"({"model_type": "dbrx", "n_layers": 1})", R"(
    transformer.wte.weight [256,64]
  ! transformer.blocks.0.norm_attn_norm.attn.{Wqkv,out_proj}.weight [64,64]
    transformer.blocks.0.ffn.router.layer.weight [2,64]
    transformer.blocks.0.ffn.experts.mlp.{w1,v1,w2} [192,64]
    lm_head.weight [256,64])"},
      {"granitemoe", R"({"model_type": "granitemoe", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    model.layers.0.block_sparse_moe.input_linear.weight [2,64,64]
    model.layers.0.block_sparse_moe.output_linear.weight [2,64,32]
    model.layers.0.block_sparse_moe.router.layer.weight [2,64])"},
      {"jamba", R"({"model_type": "jamba", "num_hidden_layers": 2})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.mamba.{in_proj,out_proj}.weight [64,64]
    model.layers.0.mamba.{x_proj,dt_proj}.weight [64,64]
    model.layers.0.mamba.conv1d.weight [64,1,4]
    model.layers.0.mamba.A_log [64,16] F32
  ! model.layers.0.feed_forward.{gate,up,down}_proj.weight [64,64]
  ! model.layers.1.self_attn.{q,k,v,o}_proj.weight [64,64]
    model.layers.1.feed_forward.router.weight [2,64]
  ! model.layers.1.feed_forward.experts.{0..1}.{gate,up,down}_proj.weight [64,64]
    lm_head.weight [256,64])"},
      {"mamba", R"({"model_type": "mamba", "num_hidden_layers": 1})", R"(
    backbone.embeddings.weight [256,64]
  ! backbone.layers.0.mixer.in_proj.weight [256,64]
    backbone.layers.0.mixer.conv1d.weight [128,1,4]
    backbone.layers.0.mixer.x_proj.weight [48,128]
    backbone.layers.0.mixer.dt_proj.weight [128,16]
    backbone.layers.0.mixer.A_log [128,16] F32
  ! backbone.layers.0.mixer.out_proj.weight [64,128]
    backbone.norm_f.weight [64])"},
      {"mamba2", R"({"model_type": "mamba2", "num_hidden_layers": 1})", R"(
    backbone.embeddings.weight [256,64]
  ! backbone.layers.0.mixer.in_proj.weight [296,64]
    backbone.layers.0.mixer.conv1d.weight [160,1,4]
    backbone.layers.0.mixer.norm.weight [128]
  ! backbone.layers.0.mixer.out_proj.weight [64,128]
    lm_head.weight [256,64])"},
      {"nemotron_h", R"({"model_type": "nemotron_h", "num_hidden_layers": 3})", R"(
    backbone.embeddings.weight [256,64]
  ! backbone.layers.0.mixer.{in_proj,out_proj}.weight [64,64]
    backbone.layers.0.mixer.conv1d.weight [64,1,4]
    backbone.layers.1.mixer.gate.weight [2,64]
  ! backbone.layers.1.mixer.experts.{0..1}.{up,down}_proj.weight [64,64]
  ! backbone.layers.1.mixer.shared_experts.{up,down}_proj.weight [64,64]
    backbone.layers.1.mixer.fc{1,2}_latent_proj.weight [64,64]
  ! backbone.layers.2.mixer.{q,k,v,o}_proj.weight [64,64]
    lm_head.weight [256,64])"},
      {"rwkv", R"({"model_type": "rwkv", "num_hidden_layers": 1})", R"(
    rwkv.embeddings.weight [256,64]
  ! rwkv.blocks.0.attention.{key,value,receptance,output}.weight [64,64]
    rwkv.blocks.0.attention.time_decay [64]
  ! rwkv.blocks.0.feed_forward.{key,value,receptance}.weight [64,64]
    head.weight [256,64])"},
  };
}

}  // namespace diecast::testing
