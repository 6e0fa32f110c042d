# stand-in until the extension exists
import numpy as np
from scipy.stats import binom
__version__ = "0.1.0"
def median_interval(values, confidence):
    x = np.sort(values); n = len(x)
    k = 0
    while k < n // 2 and 1 - 2 * binom.cdf(k, n, 0.5) >= confidence - 1e-12: k += 1
    if k == 0:
        return x[0], x[-1], 1 - 2 * 0.5**n
    return x[k-1], x[n-k], 1 - 2 * binom.cdf(k-1, n, 0.5)
def launch_share(values, launches):
    groups = [values[launches == g] for g in np.unique(launches)]
    n = np.array([len(g) for g in groups]); N = n.sum(); a = len(groups)
    if a < 2 or N <= a: return 1.0
    means = np.array([g.mean() for g in groups]); grand = values.mean()
    msb = (n*(means-grand)**2).sum()/(a-1)
    msw = sum(((g-g.mean())**2).sum() for g in groups)/(N-a)
    n0 = (N - (n**2).sum()/N)/(a-1)
    s = max(0.0, (msb-msw)/n0)
    return s/(s+msw) if s+msw > 0 else 0.0
def sign_test(values):
    v = np.asarray(values); up = int((v>0).sum()); down = int((v<0).sum()); n = up+down
    return min(1.0, 2*binom.cdf(min(up,down), n, 0.5)) if n else 1.0
def holm(p):
    p = np.asarray(p); m = len(p); o = np.argsort(p, kind="stable"); out = np.empty(m); run = 0
    for i, j in enumerate(o):
        run = max(run, min(1.0, (m-i)*p[j])); out[j] = run
    return out
