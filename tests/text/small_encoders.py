"""Small encoders with random weights, in the formats of the real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEXT = (
    "your kidneys were injured when the sugar was very high so we stopped metformin until they have recovered take"
    " two tablets twice a day with food call us if you pain gets worse or swells doctor will decide at next visit"
)
WORDS = TEXT.split()


def small_bert(
    folder: Path, *, layers: int = 3, positions: int = 48, distil: bool = False, tells_length: bool = True
) -> Path:
    """A BERT or a DistilBERT with a tokeniser of whole words and letters, which may tell how much is read."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import AutoModel, BertConfig, DistilBertConfig, PreTrainedTokenizerFast

    letters = "abcdefghijklmnopqrstuvwxyz"
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = dict.fromkeys(
        [*marks, *WORDS, *letters, *(f"##{letter}" for letter in letters), *".,?!0123456789"]
    )
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokeniser = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokeniser.normalizer = normalizers.BertNormalizer()
    tokeniser.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokeniser.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), marks, strict=True))
    most = {"model_max_length": positions} if tells_length else {}
    PreTrainedTokenizerFast(tokenizer_object=tokeniser, **names, **most).save_pretrained(folder)
    torch.manual_seed(1)
    # Weights larger than usual: else all texts are alike to it.
    shape = {"vocab_size": len(vocabulary), "max_position_embeddings": positions, "initializer_range": 0.3}
    config = (
        DistilBertConfig(dim=32, n_layers=layers, n_heads=4, hidden_dim=64, **shape)
        if distil
        else BertConfig(
            hidden_size=32, num_hidden_layers=layers, num_attention_heads=4, intermediate_size=64, **shape
        )
    )
    AutoModel.from_config(config).eval().save_pretrained(folder)
    return folder


def small_roberta(folder: Path, *, positions: int = 66) -> Path:
    """A RoBERTa's config and tokeniser of bytes, without weights: a checkpoint of AlignScore has its own."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, RobertaConfig

    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    vocabulary = {
        piece: number for number, piece in enumerate([*marks, *sorted(pre_tokenizers.ByteLevel.alphabet())])
    }
    tokeniser = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    tokeniser.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokeniser.decoder = decoders.ByteLevel()
    tokeniser.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    PreTrainedTokenizerFast(
        tokenizer_object=tokeniser,
        bos_token="<s>",
        cls_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        sep_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=positions - 2,
    ).save_pretrained(folder)
    RobertaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=positions,
        type_vocab_size=1,
        initializer_range=0.3,
        pad_token_id=1,
    ).save_pretrained(folder)
    return folder


def alignscore_parts(backbone: Path) -> dict[str, Any]:
    """The modules of an AlignScore model with random weights, by their names in the published checkpoint."""
    import torch
    from transformers import AutoConfig, RobertaModel
    from transformers.models.roberta.modeling_roberta import RobertaLMHead

    torch.manual_seed(2)
    config = AutoConfig.from_pretrained(str(backbone))
    parts = {
        "base_model": RobertaModel(config),
        "mlm_head": RobertaLMHead(config),
        "bin_layer": torch.nn.Linear(config.hidden_size, 2),
        "tri_layer": torch.nn.Linear(config.hidden_size, 3),
        "reg_layer": torch.nn.Linear(config.hidden_size, 1),
    }
    return {name: part.eval().requires_grad_(False) for name, part in parts.items()}


def alignscore_state(parts: dict[str, Any]) -> dict[str, Any]:
    """The tensors of an AlignScore model, named as in the published checkpoint."""
    import torch

    state = {
        f"{name}.{tensor}": value.clone()
        for name, part in parts.items()
        for tensor, value in part.state_dict().items()
    }
    positions = parts["base_model"].config.max_position_embeddings
    state["base_model.embeddings.position_ids"] = torch.arange(positions).expand((1, -1)).clone()
    return state


def save_checkpoint(state: dict[str, Any], file: Path) -> Path:
    """A checkpoint as pytorch-lightning writes it."""
    import torch

    torch.save(
        {
            "epoch": 2,
            "global_step": 900,
            "pytorch-lightning_version": "1.7.7",
            "state_dict": state,
            "callbacks": {
                "ModelCheckpoint{}": {"best_model_path": "a.ckpt", "best_model_score": torch.tensor(0.5)}
            },
            "optimizer_states": [],
            "lr_schedulers": [],
            "hparams_name": "kwargs",
            "hyper_parameters": {"model": "roberta-base", "using_pretrained": True, "adam_epsilon": 1e-8},
        },
        file,
    )
    return file
