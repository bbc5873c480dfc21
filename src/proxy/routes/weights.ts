// The weights of endpoints whose slices belong to backends of a Gateway.

import { backendAnnotation, weightAnnotation } from '../../api/kinds/gateway/labels.ts';
import type { Candidate } from './candidates.ts';

/** The weights of a route add up to at most about this, which bounds the slots of a route in nftables. */
const maxSum = 1024;

/**
 * The weight of each candidate: its share of the weight of its backend, which all usable endpoints of the backend have
 * together. undefined: no slice has a weight, so that all endpoints are equal.
 */
export function weightsOf(candidates: readonly Candidate[]): readonly number[] | undefined {
  if (!candidates.some(({ slice }) => slice.metadata.annotations?.[weightAnnotation] !== undefined)) return undefined;
  const sizes = new Map<string, number>();
  for (const candidate of candidates) sizes.set(backendOf(candidate), (sizes.get(backendOf(candidate)) ?? 0) + 1);
  const common = [...sizes.values()].reduce(leastCommonMultiple, 1);
  const exact = candidates.map(
    (candidate) => backendWeightOf(candidate) * (common / (sizes.get(backendOf(candidate)) ?? 1)),
  );
  const divisor = exact.reduce(greatestCommonDivisor, 0);
  const sum = exact.reduce((total, each) => total + each, 0);
  if (sum / divisor <= maxSum) return exact.map((each) => each / divisor);
  return exact.map((each) => Math.max(1, Math.round((each / sum) * maxSum)));
}

const backendOf = ({ slice }: Candidate): string => slice.metadata.annotations?.[backendAnnotation] ?? '';

/** A weight that somebody changed to another text counts as 1. */
function backendWeightOf({ slice }: Candidate): number {
  const text = slice.metadata.annotations?.[weightAnnotation] ?? '';
  return /^[1-9]\d{0,6}$/.test(text) ? Number(text) : 1;
}

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b));
const leastCommonMultiple = (a: number, b: number): number => (a / greatestCommonDivisor(a, b)) * b;
