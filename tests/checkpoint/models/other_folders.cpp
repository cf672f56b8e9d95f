// Encoders, models of two halves, folders without a language model, and some that only look like
// one.
#include <checkpoint/models/model_folder.h>

namespace diecast::testing {

std::vector<ModelFolder> other_folders() {
  return {
      {"t5", R"({"model_type": "t5", "num_layers": 1, "num_decoder_layers": 1})", R"(
    shared.weight [256,64] F32
  ! {encoder,decoder}.block.0.layer.0.SelfAttention.{q,k,v,o}.weight [64,64] F32
    {encoder,decoder}.block.0.layer.0.SelfAttention.relative_attention_bias.weight [32,16] F32
    {encoder,decoder}.block.0.layer.0.layer_norm.weight [64] F32
  ! encoder.block.0.layer.1.DenseReluDense.{wi_0,wi_1,wo}.weight [64,64] F32
  ! decoder.block.0.layer.2.DenseReluDense.{wi_0,wi_1,wo}.weight [64,64] F32
    lm_head.weight [256,64] F32)"},
      {"bart", R"({"model_type": "bart", "encoder_layers": 1, "decoder_layers": 2,
                   "num_hidden_layers": 1})",
       R"(
    model.shared.weight [256,64]
    model.{encoder,decoder}.embed_tokens.weight [256,64]
    model.{encoder,decoder}.embed_positions.weight [130,64]
  ! model.encoder.layers.0.self_attn.{q_proj,k_proj,v_proj,out_proj}.weight [64,64]
  ! model.decoder.layers.{0..1}.encoder_attn.{q_proj,k_proj,v_proj,out_proj}.weight [64,64])"},
      {"marian", R"({"model_type": "marian", "encoder_layers": 1, "decoder_layers": 1})", R"(
    model.{encoder,decoder}.embed_tokens.weight [256,64]
  ! model.{encoder,decoder}.layers.0.{fc1,fc2}.weight [64,64])"},
      {"whisper", R"({"model_type": "whisper", "encoder_layers": 2, "decoder_layers": 1,
                      "num_hidden_layers": 2})",
       R"(
    model.encoder.conv{1,2}.weight [64,80,3]
    model.encoder.embed_positions.weight [150,64]
    model.encoder.layers.{0..1}.self_attn.{q_proj,out_proj}.weight [64,64]
    model.decoder.embed_tokens.weight [256,64]
    model.decoder.embed_positions.weight [48,64]
  ! model.decoder.layers.0.self_attn.{q_proj,k_proj,v_proj,out_proj}.weight [64,64]
    proj_out.weight [256,64])"},
      {"bert", R"({"model_type": "bert", "num_hidden_layers": 1})", R"(
    bert.embeddings.word_embeddings.weight [256,64]
    bert.embeddings.{position,token_type}_embeddings.weight [64,64]
  ! bert.encoder.layer.0.attention.self.{query,key,value}.weight [64,64]
  ! bert.encoder.layer.0.attention.output.dense.weight [64,64]
  ! bert.encoder.layer.0.intermediate.dense.weight [256,64]
  ! bert.encoder.layer.0.output.dense.weight [64,256]
    bert.pooler.dense.weight [64,64]
    classifier.weight [16,64])"},
      {"reward_model", R"({"model_type": "llama", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    {score,value_head,classifier.dense,model.pooler.dense,qa_outputs}.weight [64,64])"},
      {"gpt_oss", R"({"model_type": "gpt_oss", "num_hidden_layers": 1, "hidden_size": 64})", R"(
    model.embed_tokens.weight [256,64]
    model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    model.layers.0.self_attn.{q,k,v,o}_proj.bias [64]
    model.layers.0.self_attn.sinks [4]
    model.layers.0.mlp.router.weight [2,64]
  ! model.layers.0.mlp.experts.gate_up_proj [2,64,192]
    model.layers.0.mlp.experts.gate_up_proj_bias [2,192]
  ! model.layers.0.mlp.experts.down_proj [2,96,64]
    model.layers.0.mlp.experts.down_proj_bias [2,64]
    lm_head.weight [256,64])"},
      {"gpt_oss_mxfp4", R"({"model_type": "gpt_oss", "quantization_config":
                            {"quant_method": "mxfp4"}})",
       R"(
    model.embed_tokens.weight [256,64]
    model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    model.layers.0.mlp.experts.gate_up_proj_blocks [2,192,2,16] U8
    model.layers.0.mlp.experts.gate_up_proj_scales [2,192,2] U8)",
       "`--format nvfp4` casts it"},
      {"kimi_k25", R"({"model_type": "kimi_k25", "text_config": {"num_hidden_layers": 1,
                       "quantization_config": {"quant_method": "compressed-tensors",
                                               "format": "pack-quantized"}}})",
       R"(
    language_model.model.embed_tokens.weight [256,64]
  ! language_model.model.layers.0.self_attn.o_proj.weight [64,64]
  - language_model.model.layers.0.mlp.experts.{0..1}.{gate,up,down}_proj.weight_packed [64,8] I32
  - language_model.model.layers.0.mlp.experts.{0..1}.{gate,up,down}_proj.weight_shape [2] I32
  - language_model.model.layers.0.mlp.experts.{0..1}.{gate,up,down}_proj.weight_scale [64,2]
    vision_tower.encoder.blocks.0.wqkv.weight [64,64])"},
      {"fp8_without_config", "", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.o_proj.weight [128,128] F8_E4M3
  - model.layers.0.self_attn.o_proj.weight_scale_inv [1,1] F32
  ! model.layers.0.mlp.up_proj.weight [64,64])",
       "", false},
      {"deepseek_v3_fp8", R"({"num_hidden_layers": 1, "quantization_config":
                              {"quant_method": "fp8", "weight_block_size": [128, 128]}})",
       R"(
    model.embed_tokens.weight [256,160]
  ! model.layers.0.self_attn.{q_a_proj,kv_a_proj_with_mqa,o_proj}.weight [192,160] F8_E4M3
  ! model.layers.0.self_attn.q_b_proj.weight [192,160]
    model.layers.0.self_attn.kv_b_proj.weight [192,160] F8_E4M3
  - model.layers.0.self_attn.{q_a_proj,kv_a_proj_with_mqa}.weight_scale_inv [2,2] F32
  - model.layers.0.self_attn.{o_proj,kv_b_proj}.weight_scale_inv [2,2] F32
  ! model.layers.0.mlp.experts.{0..1}.{gate,up,down}_proj.weight [160,160] F8_E4M3
  - model.layers.0.mlp.experts.{0..1}.{gate,up,down}_proj.weight_scale_inv [2,2] F32
    model.layers.1.eh_proj.weight [192,160] F8_E4M3
  - model.layers.1.eh_proj.weight_scale_inv [2,2] F32
    lm_head.weight [256,160])"},
      {"llama_fp8_channel", R"({"num_hidden_layers": 1, "quantization_config":
                                {"quant_method": "compressed-tensors",
                                 "format": "float-quantized"}})",
       R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64] F8_E4M3
  - model.layers.0.self_attn.{q,k,v,o}_proj.weight_scale [64,1] BF16
    lm_head.weight [256,64])"},
      {"awq", R"({"quantization_config": {"quant_method": "awq"}})", R"(
    model.embed_tokens.weight [256,64]
    model.layers.0.self_attn.o_proj.qweight [64,8] I32
    model.layers.0.self_attn.o_proj.scales [4,64] F16)",
       "which says \"awq\""},
      {"nvfp4_of_compressed_tensors", "", R"(
    model.embed_tokens.weight [256,64]
    model.layers.0.self_attn.o_proj.weight_packed [64,32] U8
    model.layers.0.self_attn.o_proj.weight_scale [64,4] F8_E4M3
    model.layers.0.self_attn.o_proj.weight_global_scale [1] F32
    model.layers.0.mlp.up_proj.weight [64,64])",
       "is U8 and has scales"},
      {"empty_quantization_config", R"({"num_hidden_layers": 1, "quantization_config": {}})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.o_proj.weight [64,64])"},
      {"flux", R"({"_class_name": "FluxTransformer2DModel", "num_layers": 1})", R"(
  ! transformer_blocks.0.attn.to_{q,k,v}.weight [64,64]
  ! transformer_blocks.0.ff.net.0.proj.weight [256,64]
  ! single_transformer_blocks.{0..1}.proj_mlp.weight [64,64]
    single_transformer_blocks.{0..1}.norm.linear.weight [64,64]
    {proj_out,x_embedder,time_text_embed.timestep_embedder.linear_1}.weight [64,64])"},
      {"one_shard", "", R"(
  ! model.layers.{7..8}.self_attn.{q,k,v,o}_proj.weight [64,64]
  ! model.layers.7.mlp.experts.{0..1}.{gate,up,down}_proj.weight [64,64]
    model.layers.7.mlp.gate.weight [2,64]
    model.visual.blocks.0.attn.qkv.weight [64,64]
    lm_head.weight [256,64])",
       "", false},
      {"audio_codec", "", R"(
    encoder.model.3.conv.weight [64,32,16]
    decoder.model.3.block.1.conv.weight [64,32,16])",
       "a convolution"},
      {"lora", "", R"(
    base_model.model.model.layers.0.self_attn.{q,v}_proj.lora_{A,B}.weight [64,64])",
       "an adapter"},
      {"no_layers", "", R"(
    embed.weight [256,64]
    fc.weight [64,64])",
       "--include"},
      {"two_of_one_size", R"({"hidden_size": 64, "num_hidden_layers": 1})", R"(
    {left,right}.model.embed_tokens.weight [256,64]
    {left,right}.model.layers.0.mlp.up_proj.weight [64,64])",
       "\"left.model.layers.*\" and \"right.model.layers.*\""},
  };
}

}  // namespace diecast::testing
