"""The same model in ``transformers``, from the dequantised file: what our numbers are compared with. Never ships text.

Independent of our reader, unpacking and decoder: the ``gguf`` package reads, ``transformers`` computes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

TENSOR_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
    "attn_norm.weight": "input_layernorm.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_q.bias": "self_attn.q_proj.bias",
    "attn_k.bias": "self_attn.k_proj.bias",
    "attn_v.bias": "self_attn.v_proj.bias",
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}


def load_reference(path: Path) -> Any:
    """A ``transformers`` causal language model in float32 with the file's dequantised weights."""
    import torch
    from gguf import GGUFReader
    from transformers import AutoConfig, AutoModelForCausalLM

    reader = GGUFReader(path)
    settings = _config(reader)
    config = AutoConfig.for_model(**settings)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)  # type: ignore[no-untyped-call]
    state = dict(_tensors(reader, settings))
    if "lm_head.weight" not in state:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state, assign=True, strict=True)
    _fill_rotary(model, config)
    return model.eval()


def reference_logits(model: Any, token_ids: list[int]) -> Tensor:
    """[T, vocab] float32 logits of every position."""
    import torch

    with torch.inference_mode():
        logits: Tensor = model(torch.tensor([token_ids])).logits[0]
    return logits


def follows_greedily(model: Any, prompt: list[int], answer: list[int]) -> bool:
    """Whether the reference, too, would choose each token of the answer after those before it.

    One pass over prompt and answer shows what decoding token by token would: if the likeliest token agrees at every
    step, the greedy answers are equal by induction.
    """
    logits = reference_logits(model, prompt + answer[:-1])
    likeliest: list[int] = logits[len(prompt) - 1 :].argmax(-1).tolist()
    return likeliest == answer


def _config(reader: Any) -> dict[str, Any]:
    family = reader.fields["general.architecture"].contents()

    def number(key: str) -> Any:
        return reader.fields[f"{family}.{key}"].contents()

    return {
        "model_type": family,
        "vocab_size": len(reader.fields["tokenizer.ggml.tokens"].data),
        "hidden_size": number("embedding_length"),
        "intermediate_size": number("feed_forward_length"),
        "num_hidden_layers": number("block_count"),
        "num_attention_heads": number("attention.head_count"),
        "num_key_value_heads": number("attention.head_count_kv"),
        "max_position_embeddings": number("context_length"),
        "rms_norm_eps": number("attention.layer_norm_rms_epsilon"),
        "rope_parameters": {"rope_type": "default", "rope_theta": number("rope.freq_base")},
        "tie_word_embeddings": False,
        "attn_implementation": "sdpa",
    }


def _tensors(reader: Any, settings: dict[str, Any]) -> Iterator[tuple[str, Tensor]]:
    import torch
    from gguf import dequantize

    for tensor in reader.tensors:
        shape = [int(size) for size in reversed(tensor.shape)]
        values = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy()).view(shape)
        prefix, name = "", tensor.name
        if name.startswith("blk."):
            _, layer, name = name.split(".", 2)
            prefix = f"model.layers.{layer}."
        if settings["model_type"] == "llama" and name in ("attn_q.weight", "attn_k.weight"):
            # The converter interleaved each head's two halves; undo it.
            heads = settings["num_attention_heads" if name == "attn_q.weight" else "num_key_value_heads"]
            pairs = values.view(heads, -1, 2, values.shape[-1])
            values = torch.cat([pairs[:, :, 0], pairs[:, :, 1]], dim=1).view(shape)
        yield prefix + TENSOR_NAMES[name], values


def _fill_rotary(model: Any, config: Any) -> None:
    """Buffers that are computed, not loaded, were left on the meta device."""
    rotary = type(model.model.rotary_emb)
    model.model.rotary_emb = rotary(config=config)
