// Language models with towers for images and sound beside them, and talkers behind them.
#include <checkpoint/models/model_folder.h>

namespace diecast::testing {

std::vector<ModelFolder> multimodal_folders() {
  return {
      {"llava", R"({"model_type": "llava", "text_config": {"num_hidden_layers": 1},
                    "vision_config": {"num_hidden_layers": 1}})",
       R"(
    vision_tower.vision_model.embeddings.patch_embedding.weight [64,3,14,14]
    vision_tower.vision_model.embeddings.position_embedding.weight [577,64]
    vision_tower.vision_model.encoder.layers.0.self_attn.{q_proj,out_proj}.weight [64,64]
    vision_tower.vision_model.encoder.layers.0.mlp.fc1.weight [64,64]
    multi_modal_projector.linear_{1,2}.weight [64,64]
    language_model.model.embed_tokens.weight [256,64]
  ! language_model.model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
  ! language_model.model.layers.0.mlp.{gate,up,down}_proj.weight [64,64]
    language_model.lm_head.weight [256,64])"},
      {"gemma3", R"({"model_type": "gemma3", "text_config": {"num_hidden_layers": 1}})", R"(
    vision_tower.vision_model.encoder.layers.0.self_attn.{q_proj,out_proj}.weight [64,64]
    multi_modal_projector.mm_input_projection_weight [64,64]
    multi_modal_projector.mm_soft_emb_norm.weight [64]
    language_model.model.embed_tokens.weight [256,64]
  ! language_model.model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
  ! language_model.model.layers.0.mlp.{gate,up,down}_proj.weight [64,64])"},
      {"gemma3n", R"({"model_type": "gemma3n", "text_config": {"num_hidden_layers": 1,
                      "vocab_size": 256, "hidden_size": 64}})",
       R"(
    model.language_model.embed_tokens.weight [256,64]
    model.language_model.embed_tokens_per_layer.weight [256,32]
    model.language_model.per_layer_model_projection.weight [32,64]
    model.embed_vision.embedding.weight [128,64]
    model.embed_vision.embedding_projection.weight [64,64]
    model.audio_tower.conformer.0.attention.attn.q_proj.weight [64,64]
  ! model.language_model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
  ! model.language_model.layers.0.mlp.{gate,up,down}_proj.weight [64,64]
    model.language_model.layers.0.altup.modality_router.weight [4,64])"},
      {"qwen2_vl", R"({"model_type": "qwen2_vl", "num_hidden_layers": 1, "hidden_size": 64})", R"(
    model.embed_tokens.weight [256,64]
  ! model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
  ! model.layers.0.mlp.{gate,up,down}_proj.weight [64,64]
    visual.patch_embed.proj.weight [64,3,2,14,14]
    visual.blocks.0.attn.{qkv,proj}.weight [64,64]
    visual.blocks.0.mlp.{fc1,fc2}.weight [64,64]
    visual.merger.mlp.{0,2}.weight [64,64]
    lm_head.weight [256,64])"},
      {"qwen3_vl", R"({"model_type": "qwen3_vl", "text_config": {"num_hidden_layers": 1}})", R"(
    model.language_model.embed_tokens.weight [256,64]
  ! model.language_model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
  ! model.language_model.layers.0.mlp.{gate,up,down}_proj.weight [64,64]
    model.visual.pos_embed.weight [64,64]
    model.visual.blocks.0.attn.{qkv,proj}.weight [64,64]
    model.visual.deepstack_merger_list.0.linear_fc{1,2}.weight [64,64]
    lm_head.weight [256,64])"},
      {"qwen3_vl_moe", R"({"model_type": "qwen3_vl_moe", "text_config": {"num_hidden_layers": 1,
                           "hidden_size": 128}})",
       R"(
    model.language_model.embed_tokens.weight [256,128]
  ! model.language_model.layers.0.self_attn.{q,k,v,o}_proj.weight [128,128]
    model.language_model.layers.0.mlp.gate.weight [2,128]
  ! model.language_model.layers.0.mlp.experts.gate_up_proj [2,128,192]
  ! model.language_model.layers.0.mlp.experts.down_proj [2,96,128]
    model.visual.blocks.0.attn.{qkv,proj}.weight [64,64]
    lm_head.weight [256,128])"},
      {"qwen3_5_moe", R"({"model_type": "qwen3_5_moe", "text_config": {"num_hidden_layers": 2,
                          "hidden_size": 128}})",
       R"(
    model.language_model.embed_tokens.weight [256,128]
  ! model.language_model.layers.0.linear_attn.in_proj_{qkv,z}.weight [128,128]
    model.language_model.layers.0.linear_attn.in_proj_{a,b}.weight [16,128]
    model.language_model.layers.0.linear_attn.conv1d.weight [128,1,4]
  ! model.language_model.layers.0.linear_attn.out_proj.weight [128,128]
  ! model.language_model.layers.1.self_attn.{q,k,v,o}_proj.weight [128,128]
    model.language_model.layers.{0..1}.mlp.gate.weight [2,128]
  ! model.language_model.layers.{0..1}.mlp.experts.gate_up_proj [2,192,128]
  ! model.language_model.layers.{0..1}.mlp.experts.down_proj [2,128,96]
  ! model.language_model.layers.{0..1}.mlp.shared_expert.{gate,up,down}_proj.weight [128,128]
    model.language_model.layers.{0..1}.mlp.shared_expert_gate.weight [1,128]
    model.visual.blocks.0.attn.{qkv,proj}.weight [64,64]
    mtp.fc.weight [128,256]
    mtp.layers.0.mlp.experts.gate_up_proj [2,192,128]
    mtp.layers.0.mlp.experts.down_proj [2,128,96]
    lm_head.weight [256,128])"},
      {"internvl", R"({"model_type": "internvl_chat", "llm_config": {"num_hidden_layers": 1}})", R"(
    vision_model.embeddings.position_embedding [1,16,64]
    vision_model.encoder.layers.0.attn.{qkv,proj}.weight [64,64]
    mlp1.{1,3}.weight [64,64]
    language_model.model.tok_embeddings.weight [256,64]
  ! language_model.model.layers.0.attention.{wqkv,wo}.weight [64,64]
  ! language_model.model.layers.0.feed_forward.{w1,w2,w3}.weight [64,64]
    language_model.output.weight [256,64])"},
      {"llama4", R"({"model_type": "llama4", "text_config": {"num_hidden_layers": 1}})", R"(
    language_model.model.embed_tokens.weight [256,128]
  ! language_model.model.layers.0.self_attn.{q,k,v,o}_proj.weight [128,128]
    language_model.model.layers.0.feed_forward.router.weight [2,128]
  ! language_model.model.layers.0.feed_forward.experts.gate_up_proj [2,128,192]
  ! language_model.model.layers.0.feed_forward.experts.down_proj [2,96,128]
  ! language_model.model.layers.0.feed_forward.shared_expert.{gate,up,down}_proj.weight [128,128]
    language_model.lm_head.weight [256,128]
    vision_model.patch_embedding.linear.weight [64,588]
    vision_model.model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    vision_model.vision_adapter.mlp.fc1.weight [64,64]
    multi_modal_projector.linear_1.weight [64,64])"},
      {"mistral3", R"({"model_type": "mistral3", "text_config": {"num_hidden_layers": 1}})", R"(
    vision_tower.transformer.layers.0.attention.{q,k,v,o}_proj.weight [64,64]
    multi_modal_projector.{linear_1,linear_2,patch_merger.merging_layer}.weight [64,64]
    language_model.model.embed_tokens.weight [256,64]
  ! language_model.model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
  ! language_model.model.layers.0.mlp.{gate,up,down}_proj.weight [64,64]
    language_model.lm_head.weight [256,64])"},
      {"pixtral_consolidated", "", R"(
    tok_embeddings.weight [256,64]
  ! layers.0.attention.{wq,wk,wv,wo}.weight [64,64]
  ! layers.0.feed_forward.{w1,w2,w3}.weight [64,64]
    vision_encoder.transformer.layers.0.attention.{wq,wk,wv,wo}.weight [64,64]
    vision_language_adapter.w_{in,out}.weight [64,64]
    output.weight [256,64])",
       "", false},
      {"molmo", R"({"model_type": "molmo", "num_hidden_layers": 1, "vocab_size": 256})", R"(
    model.transformer.wte.embedding [256,64]
    model.transformer.wte.new_embedding [128,64]
  ! model.transformer.blocks.0.{att_proj,attn_out,ff_proj,ff_out}.weight [64,64]
    model.transformer.ff_out.weight [256,64]
    model.vision_backbone.image_vit.transformer.resblocks.0.attention.wq.weight [64,64]
    model.vision_backbone.image_projector.w1.weight [64,64])"},
      {"qwen2_5_omni", R"({"model_type": "qwen2_5_omni", "thinker_config": {"text_config":
                           {"num_hidden_layers": 1, "hidden_size": 64}},
                           "talker_config": {"hidden_size": 32}})",
       R"(
    thinker.model.embed_tokens.weight [256,64]
  ! thinker.model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    thinker.audio_tower.layers.0.self_attn.{q_proj,out_proj}.weight [64,64]
    thinker.visual.blocks.0.attn.q.weight [64,64]
    thinker.lm_head.weight [256,64]
    talker.model.embed_tokens.weight [128,32]
    talker.model.layers.0.self_attn.{q,k,v,o}_proj.weight [32,32])"},
      {"qwen3_omni_moe", R"({"model_type": "qwen3_omni_moe", "thinker_config": {"text_config":
                             {"num_hidden_layers": 1}}})",
       R"(
    thinker.model.embed_tokens.weight [256,64]
  ! thinker.model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
  ! thinker.model.layers.0.mlp.experts.{0..1}.{gate,up,down}_proj.weight [64,64]
    thinker.audio_tower.layers.0.fc1.weight [64,64]
    talker.model.codec_embedding.weight [128,64]
    talker.model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    talker.code_predictor.model.layers.0.mlp.up_proj.weight [64,64]
    code2wav.pre_transformer.layers.0.mlp.up_proj.weight [64,64])"},
      {"minicpmv", R"({"model_type": "minicpmv", "num_hidden_layers": 1})", R"(
    llm.model.embed_tokens.weight [256,64]
  ! llm.model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    llm.lm_head.weight [256,64]
    vpm.encoder.layers.0.self_attn.q_proj.weight [64,64]
    resampler.{kv_proj,attn.out_proj}.weight [64,64])"},
      {"deepseek_vl_v2", R"({"model_type": "deepseek_vl_v2", "language_config":
                             {"num_hidden_layers": 1}})",
       R"(
    language.model.embed_tokens.weight [256,64]
  ! language.model.layers.0.self_attn.{q_proj,kv_a_proj_with_mqa,o_proj}.weight [64,64]
    language.model.layers.0.self_attn.kv_b_proj.weight [64,64]
  ! language.model.layers.0.mlp.{gate,up,down}_proj.weight [64,64]
    vision.blocks.0.attn.qkv.weight [64,64]
    projector.layers.{0,2}.weight [64,64])"},
      {"mllama", R"({"model_type": "mllama", "text_config": {"num_hidden_layers": 2}})", R"(
    language_model.model.embed_tokens.weight [264,64]
  ! language_model.model.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
  ! language_model.model.layers.1.cross_attn.{q,k,v,o}_proj.weight [64,64]
    vision_model.transformer.layers.0.self_attn.{q,k,v,o}_proj.weight [64,64]
    multi_modal_projector.weight [64,64])"},
      {"phi4mm", R"({"model_type": "phi4mm", "num_hidden_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
    model.embed_tokens_extend.image_embed.img_processor.encoder.layers.0.mlp.fc1.weight [64,64]
    model.embed_tokens_extend.audio_embed.encoder.encoders.0.feed_forward_in.net.0.weight [64,64]
  ! model.layers.0.self_attn.{qkv,o}_proj.base_layer.weight [64,64]
    model.layers.0.self_attn.qkv_proj.lora_{A,B}.{speech,vision}.weight [64,64])"},
  };
}

}  // namespace diecast::testing
