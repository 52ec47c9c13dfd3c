"""A classical text embedding: TF-IDF, truncated SVD, unit length.

The fitted model embeds rows and, later, what a user types.
"""
import joblib
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

DIM = 256


def text_of(package):
    """What is embedded; name and synopsis count twice."""
    head = f"{package.name.replace('-', ' ')} {package.synopsis}"
    return f"{head} {head} {package.description}"


def unit(x):
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    return (x / np.where(norm == 0, 1, norm)).astype(np.float32)


class Model:
    def __init__(self):
        self.words = TfidfVectorizer(
            sublinear_tf=True, stop_words="english", min_df=3, max_df=0.2,
            ngram_range=(1, 2), max_features=80000,
            token_pattern=r"(?u)\b[a-z][a-z0-9+]+\b", dtype=np.float32)
        self.svd = TruncatedSVD(DIM, algorithm="randomized", n_iter=4,
                                random_state=1)

    def fit(self, texts, say):
        say("counting words and pairs of words (TF-IDF)")
        counts = self.words.fit_transform(texts)
        say(f"reducing {counts.shape[1]:,} terms to {DIM} dimensions (SVD)")
        return unit(self.svd.fit_transform(counts))

    def embed(self, texts):
        """Rows of zeros where no word is known."""
        return unit(self.svd.transform(self.words.transform(texts)))

    def save(self, path):
        joblib.dump(self, path)


def load(path):
    return joblib.load(path)
