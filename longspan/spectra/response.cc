#include "longspan/spectra/response.h"

#include <cmath>

namespace longspan::spectra {

double response(std::span<const double> theta, double lambda) {
  double out = 0;
  for (std::size_t k = theta.size(); k-- > 0;) out = out * (1 - lambda) + theta[k];
  return out;
}

double ppr_response(double alpha, int64_t hops, double lambda) {
  const double c = (1 - alpha) * (1 - lambda), power = std::pow(c, static_cast<double>(hops));
  // 1 - c is exact where c nears 1 only if it is formed from what is small there.
  const double rest = alpha + (1 - alpha) * lambda;
  return rest == 0 ? 1 : alpha * (1 - power) / rest + power;
}

double ppr_limit(double alpha, double lambda) {
  const double rest = alpha + (1 - alpha) * lambda;
  return rest == 0 ? 1 : alpha / rest;
}

double heat_limit(double t, double lambda) { return std::exp(-t * lambda); }

double ppr_eigenvalue(double alpha, double lambda) {
  const double rest = alpha + (1 - alpha) * lambda;
  return rest == 0 ? 0 : (1 - alpha) * lambda / rest;
}

}  // namespace longspan::spectra
