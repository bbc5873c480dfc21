// Selects the next upstream from past results. Pure: time and randomness are parameters.
import type { Random } from '../../client/clock.ts';
import { backoffMs } from '../../client/clock.ts';

/** The state of an upstream. */
export interface Health {
  /** Number of measured answers; without any the other numbers are guesses. */
  readonly samples: number;
  /** Smoothed response time and deviation. */
  readonly rttMs: number;
  readonly deviationMs: number;
  /** The 95th percentile of response times. */
  readonly p95Ms: number;
  /** 0 to 1: the recent share of queries without a useful answer. */
  readonly failureRate: number;
  /** Consecutive queries without any answer. */
  readonly failures: number;
  /** Set while the upstream is down: the time of the next probe. */
  readonly probeAt?: number | undefined;
  /** Time of the last query. */
  readonly askedAt?: number | undefined;
  /** Time of the last response. */
  readonly respondedAt?: number | undefined;
}

/** The state of an upstream that was never queried. */
export const unknownHealth: Health = {
  samples: 0,
  rttMs: 100,
  deviationMs: 50,
  p95Ms: 150,
  failureRate: 0,
  failures: 0,
};

/** Consecutive failures after which an upstream is down: a single one may be packet loss. */
const failuresToBeDown = 2;
const probeBackoff = { baseMs: 500, maxMs: 30_000 };
/** An upstream without queries for this long gets a copy of one, which updates its rank. */
const exploreAfterMs = 10_000;
/** The cost of a failed query, in response time. */
const failureCostMs = 1000;
const failureWeight = 0.25;
const rttWeight = 1 / 8;

/** After a useful answer. */
export function answered(health: Health, ms: number, now: number): Health {
  return { ...responded(health, ms, now), failureRate: health.failureRate * (1 - failureWeight) };
}

/** After a useless answer (SERVFAIL, REFUSED): the upstream is up, but another may do better. */
export function refused(health: Health, ms: number, now: number): Health {
  return { ...responded(health, ms, now), failureRate: worse(health.failureRate, failureWeight) };
}

function responded(health: Health, ms: number, now: number): Health {
  const alive = { ...health, samples: health.samples + 1, failures: 0, probeAt: undefined, respondedAt: now };
  if (health.samples === 0) return { ...alive, rttMs: ms, deviationMs: ms / 2, p95Ms: ms * 1.5 };
  const distance = Math.abs(ms - health.rttMs);
  const deviationMs = health.deviationMs + (distance - health.deviationMs) / 4;
  // Tracks a quantile without samples: 19 small steps down balance one large step up.
  const step = Math.max(deviationMs, ms / 20) / 2;
  const p95Ms = ms > health.p95Ms ? health.p95Ms + 0.95 * step : health.p95Ms - 0.05 * step;
  const rttMs = health.rttMs + (ms - health.rttMs) * rttWeight;
  return { ...alive, rttMs, deviationMs, p95Ms: Math.max(p95Ms, rttMs) };
}

/** After the hedging delay without a response: lowers the rank, but is no failure yet. */
export function late(health: Health): Health {
  return { ...health, failureRate: worse(health.failureRate, failureWeight / 2) };
}

/**
 * After a query at `askedAt` without a response. An upstream that answered other queries since is not down: the problem is
 * this name.
 */
export function failed(health: Health, askedAt: number, { now, random }: { now: number; random: Random }): Health {
  const failureRate = worse(health.failureRate, failureWeight);
  if (health.respondedAt !== undefined && health.respondedAt > askedAt) return { ...health, failureRate };
  // Concurrent timeouts count as one failure.
  if (health.probeAt !== undefined && now < health.probeAt) return { ...health, failureRate };
  const failures = health.failures + 1;
  if (failures < failuresToBeDown) return { ...health, failureRate, failures };
  const wait = backoffMs(probeBackoff, failures - failuresToBeDown + 1, random);
  return { ...health, failureRate, failures, probeAt: now + wait };
}

const worse = (failureRate: number, weight: number): number => failureRate + (1 - failureRate) * weight;

/** When a query is sent. */
export function withQuery(health: Health, now: number): Health {
  return { ...health, askedAt: now };
}

/** Whether it gets only probes while other upstreams are up. */
export const isDown = (health: Health): boolean => health.probeAt !== undefined;

const costOf = (health: Health): number => health.rttMs + health.failureRate * failureCostMs;

/**
 * Orders upstreams for a query: those that are up by cost, then those that are down. Upstreams about as good as the best
 * rotate, so that none gets all queries.
 */
export function rank(healths: readonly Health[], turn: number): readonly number[] {
  const order = healths.map((_, index) => index);
  const costs = healths.map(costOf);
  const cost = (index: number): number => costs[index] ?? 0;
  const down = (index: number): number => Number(isDown(healths[index] ?? unknownHealth));
  order.sort((a, b) => down(a) - down(b) || cost(a) - cost(b) || a - b);
  const [best] = order;
  if (best === undefined) return order;
  const limit = cost(best) * 1.3 + 2;
  const near = order.filter((index) => down(index) === down(best) && cost(index) <= limit);
  const start = turn % near.length;
  return [...near.slice(start), ...near.slice(0, start), ...order.slice(near.length)];
}

/** Upstreams that are down and due for a probe. No client waits for probes. */
export function dueProbes(healths: readonly Health[], now: number): readonly number[] {
  return healths.flatMap(({ probeAt }, index) => (probeAt !== undefined && now >= probeAt ? [index] : []));
}

/** An upstream that is up and has not been queried for a while, to get a copy of the query that `first` gets. */
export function dueExploration(healths: readonly Health[], first: number, now: number): number | undefined {
  const index = healths.findIndex(
    (health, at) => at !== first && !isDown(health) && now - (health.askedAt ?? -Infinity) >= exploreAfterMs,
  );
  return index === -1 ? undefined : index;
}

const hedgeBounds = { minMs: 10, maxMs: 300 };
const minRepeatMs = 150;

/** How long to wait for an upstream before querying another one too: its 95th percentile. */
export function hedgeAfterMs(health: Health): number {
  if (isDown(health)) return minRepeatMs;
  return Math.min(Math.max(health.p95Ms, hedgeBounds.minMs), hedgeBounds.maxMs);
}

/**
 * How long to wait, after every upstream was queried `rounds` times, before querying one again. Longer than the hedging
 * delay: repeating a query helps only if it was lost.
 */
export function repeatAfterMs(health: Health, rounds: number): number {
  const once = Math.min(Math.max(2 * health.p95Ms, minRepeatMs), 2 * hedgeBounds.maxMs);
  return once * 2 ** Math.min(rounds - 1, 8);
}
