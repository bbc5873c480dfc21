// What the command line and the dashboard show of a set of clusters: the state as the controller reads it, explanations,
// and plans of changes. Only they import this file.
export type { Explanation } from './explain/explain.ts';
export { explain, explanationText } from './explain/explain.ts';
export { waitingSince } from './explain/lag.ts';
export { skewText, slowness } from './explain/member-problem.ts';
export { audienceText, hiddenFrom } from './merge/audience.ts';
export { installDefinitions } from './member/unreadable.ts';
export { droppedEvents } from './project/export-events.ts';
export { planText, invalidReason } from './explain/plan.ts';
export { planChange } from './explain/plan-change.ts';
export type { ControllerOptions, Snapshot } from './explain/snapshot.ts';
export { takeSnapshot } from './explain/snapshot.ts';
export type { DnsAnswer, LeaseState } from './explain/why.ts';
export { why, whyText } from './explain/why.ts';
export type { DrainProgress } from './project/drain.ts';
export { drainText } from './project/drain.ts';
export type { MemberEntry } from './member/entry.ts';
