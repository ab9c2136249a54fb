#!/usr/bin/env python3
"""Trains a tokenizer on text and writes it as tokenizer.json, for `longspan prepare --tokenizer`.

usage: train_tokenizer.py FILE... --out tokenizer.json [--model bpe|wordpiece|unigram] [--vocabulary 8000]

Needs the package `tokenizers` (pip install tokenizers). The models:

  bpe        Byte pairs over bytes, cut as GPT-2 does: reads any text and gives it back exactly. The right one for a
             language model.
  wordpiece  As BERT: lower case, no accents, words and their parts; [CLS] and [SEP] around a text, which tasks of
             encoders put there. Of letters the 1,000 most frequent at most.
  unigram    As T5: blanks become a sign, the most probable parts of a word.

The same files and flags give the same tokenizer.
"""

import argparse
import sys


def with_unknown(name, special):
    """Special tokens with the one that the model cannot do without."""
    return special if name in special else [name, *special]


def bpe(tokenizers, special, vocabulary):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return tokenizer, tokenizers.trainers.BpeTrainer, {
        "special_tokens": special or ["<|endoftext|>"],
        "initial_alphabet": sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())}


def wordpiece(tokenizers, special, vocabulary):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = tokenizers.decoders.WordPiece()
    return tokenizer, tokenizers.trainers.WordPieceTrainer, {
        # A letter is two tokens, at the start of a word and within; the rarest ones are unknown.
        "limit_alphabet": min(1000, vocabulary // 4),
        "special_tokens": with_unknown("[UNK]", special or ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])}


def unigram(tokenizers, special, vocabulary):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram())
    tokenizer.normalizer = tokenizers.normalizers.NFKC()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.decoder = tokenizers.decoders.Metaspace()
    return tokenizer, tokenizers.trainers.UnigramTrainer, {
        "special_tokens": with_unknown("<unk>", special or ["<unk>", "<s>", "</s>"]), "unk_token": "<unk>"}


MODELS = {"bpe": bpe, "wordpiece": wordpiece, "unigram": unigram}


def train(tokenizers, files, model, vocabulary, special=()):
    """A tokenizer of the package `tokenizers`."""
    tokenizer, trainer, options = MODELS[model](tokenizers, list(special), vocabulary)
    tokenizer.train(files, trainer(vocab_size=vocabulary, show_progress=False, **options))
    if model == "wordpiece" and not special:
        ends = [(name, tokenizer.token_to_id(name)) for name in ("[SEP]", "[CLS]")]
        tokenizer.post_processor = tokenizers.processors.BertProcessing(*ends)
    return tokenizer


def main():
    parser = argparse.ArgumentParser(description="Trains a tokenizer on text.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="text in UTF-8")
    parser.add_argument("--out", required=True, help="the file to write")
    parser.add_argument("--model", choices=MODELS, default="bpe")
    parser.add_argument("--vocabulary", type=int, default=8000, help="tokens at most (default: 8000)")
    parser.add_argument("--special", action="append", default=[],
                        help="a special token instead of the model's usual ones, other than that of what is unknown (may be "
                             "repeated)")
    options = parser.parse_args()
    try:
        import tokenizers
    except ImportError:
        sys.exit("train_tokenizer.py: needs the package tokenizers: pip install tokenizers")
    try:
        tokenizer = train(tokenizers, options.files, options.model, options.vocabulary, options.special)
        tokenizer.save(options.out)
    except Exception as error:  # the package raises Exception itself
        sys.exit("train_tokenizer.py: %s" % error)
    print("%s: %d tokens" % (options.out, tokenizer.get_vocab_size()))


if __name__ == "__main__":
    main()
