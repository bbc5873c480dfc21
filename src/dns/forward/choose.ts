// Which upstream to ask next, from what was seen of each. Pure: time and chance are passed in.
import type { Random } from '../../client/clock.ts';
import { backoffMs } from '../../client/clock.ts';

/** What is known of one upstream. */
export interface Health {
  /** How many answers it is known from; none: the other numbers are guesses. */
  readonly samples: number;
  /** Smoothed time to an answer, and how far answers are from it. */
  readonly rttMs: number;
  readonly deviationMs: number;
  /** What 95 of 100 answers took at most. */
  readonly p95Ms: number;
  /** 0 to 1: the share of questions that it lately had no useful answer to. */
  readonly badness: number;
  /** Questions in a row without any answer. */
  readonly failures: number;
  /** Set while it is down: when it is worth a probe. */
  readonly probeAt?: number | undefined;
  /** When it was last asked. */
  readonly askedAt?: number | undefined;
  /** When it last said anything. */
  readonly heardAt?: number | undefined;
}

/** An upstream that was never asked. */
export const unknownHealth: Health = {
  samples: 0,
  rttMs: 100,
  deviationMs: 50,
  p95Ms: 150,
  badness: 0,
  failures: 0,
};

/** Failures in a row after which an upstream is down: one may be a lost packet. */
const failuresToBeDown = 2;
const probeBackoff = { baseMs: 500, maxMs: 30_000 };
/** An upstream that was not asked for so long gets a copy of a question, so that its rank is not a memory. */
const exploreAfterMs = 10_000;
/** What an answer that does not come costs, against one that does. */
const badnessCostMs = 1000;
const badnessWeight = 0.25;
const rttWeight = 1 / 8;

/** After a useful answer. */
export function answered(health: Health, ms: number, now: number): Health {
  return { ...heard(health, ms, now), badness: health.badness * (1 - badnessWeight) };
}

/** After an answer that helps nobody (SERVFAIL, REFUSED): it lives, but the next one may do better. */
export function refused(health: Health, ms: number, now: number): Health {
  return { ...heard(health, ms, now), badness: worse(health.badness, badnessWeight) };
}

function heard(health: Health, ms: number, now: number): Health {
  const alive = { ...health, samples: health.samples + 1, failures: 0, probeAt: undefined, heardAt: now };
  if (health.samples === 0) return { ...alive, rttMs: ms, deviationMs: ms / 2, p95Ms: ms * 1.5 };
  const distance = Math.abs(ms - health.rttMs);
  const deviationMs = health.deviationMs + (distance - health.deviationMs) / 4;
  // A quantile followed without keeping samples: 19 small steps down balance one large step up.
  const step = Math.max(deviationMs, ms / 20) / 2;
  const p95Ms = ms > health.p95Ms ? health.p95Ms + 0.95 * step : health.p95Ms - 0.05 * step;
  const rttMs = health.rttMs + (ms - health.rttMs) * rttWeight;
  return { ...alive, rttMs, deviationMs, p95Ms: Math.max(p95Ms, rttMs) };
}

/** When it has been silent for longer than it should: enough to prefer another, not to call it down. */
export function late(health: Health): Health {
  return { ...health, badness: worse(health.badness, badnessWeight / 2) };
}

/**
 * After a question that was asked at `askedAt` and got no answer. An upstream that has answered others since is not
 * down: the name is what nobody answers for.
 */
export function failed(health: Health, askedAt: number, { now, random }: { now: number; random: Random }): Health {
  const badness = worse(health.badness, badnessWeight);
  if (health.heardAt !== undefined && health.heardAt > askedAt) return { ...health, badness };
  // A hundred questions that time out together are one failure.
  if (health.probeAt !== undefined && now < health.probeAt) return { ...health, badness };
  const failures = health.failures + 1;
  if (failures < failuresToBeDown) return { ...health, badness, failures };
  const wait = backoffMs(probeBackoff, failures - failuresToBeDown + 1, random);
  return { ...health, badness, failures, probeAt: now + wait };
}

const worse = (badness: number, weight: number): number => badness + (1 - badness) * weight;

/** When it is asked. A probe of one that is down moves its next probe, so that there is one at a time. */
export function asked(health: Health, now: number): Health {
  return { ...health, askedAt: now };
}

/** Whether it has failed so often that only probes go to it while others live. */
export const isDown = (health: Health): boolean => health.probeAt !== undefined;

const costOf = (health: Health): number => health.rttMs + health.badness * badnessCostMs;

/**
 * All upstreams, the one to ask first in front: those that live by what an answer costs, then those that are down. The
 * ones about as good as the best take turns, so that none gets all questions.
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

/** Those that are down and due for a probe. Nobody waits for a probe. */
export function dueProbes(healths: readonly Health[], now: number): readonly number[] {
  return healths.flatMap(({ probeAt }, index) => (probeAt !== undefined && now >= probeAt ? [index] : []));
}

/** One that lives and was not asked for a while, to get a copy of the question that `first` is asked. */
export function dueExploration(healths: readonly Health[], first: number, now: number): number | undefined {
  const index = healths.findIndex(
    (health, at) => at !== first && !isDown(health) && now - (health.askedAt ?? -Infinity) >= exploreAfterMs,
  );
  return index === -1 ? undefined : index;
}

const hedgeBounds = { leastMs: 10, mostMs: 300 };
const repeatLeastMs = 150;

/** How long to wait for this upstream before another is asked too: what 95 of 100 answers take. */
export function hedgeAfterMs(health: Health): number {
  if (isDown(health)) return repeatLeastMs;
  return Math.min(Math.max(health.p95Ms, hedgeBounds.leastMs), hedgeBounds.mostMs);
}

/**
 * How long to wait after all have been asked `rounds` times before one is asked again. Longer than for another one: a
 * question that takes its time there gains nothing from being asked twice, only a lost one does.
 */
export function repeatAfterMs(health: Health, rounds: number): number {
  const once = Math.min(Math.max(2 * health.p95Ms, repeatLeastMs), 2 * hedgeBounds.mostMs);
  return once * 2 ** Math.min(rounds - 1, 8);
}
