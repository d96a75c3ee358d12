/** Medians and spreads of a few rounds, and how they are printed. */

export function quantile(values, share) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length === 0) return Number.NaN;
  const place = (sorted.length - 1) * share;
  const low = Math.floor(place);
  const high = Math.ceil(place);
  return sorted[low] + (sorted[high] - sorted[low]) * (place - low);
}

export function median(values) {
  return quantile(values, 0.5);
}

/** About three significant digits, with thousands separated by spaces. */
export function digits(value) {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 100)
    return Math.round(value)
      .toString()
      .replace(/\B(?=(\d{3})+$)/g, ' ');
  if (size >= 10) return value.toFixed(1);
  return value.toFixed(2);
}

/** The median, and half the inter-quartile range as a percentage of the median. */
export function spread(values) {
  const middle = median(values);
  if (!Number.isFinite(middle)) return '–';
  const half = (quantile(values, 0.75) - quantile(values, 0.25)) / 2;
  return `${digits(middle)} ±${Math.round((100 * half) / Math.abs(middle || 1))}%`;
}

/** The 95 % confidence interval of a median. It is computed from ranks, without assuming a distribution. */
export function interval(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  const place = Math.max(0, Math.floor(sorted.length / 2 - 0.98 * Math.sqrt(sorted.length)));
  return `${digits(sorted[place])} to ${digits(sorted[sorted.length - 1 - place])}`;
}

/** The median over rounds of `values[round] / base[round]`: load on the machine affects both. */
export function ratio(values, base) {
  return median(ratios(values, base));
}

/** `values[round] / base[round]` of each round. */
export function ratios(values, base) {
  return values.map((value, round) => value / base[round]);
}
