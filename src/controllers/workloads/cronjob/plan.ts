// What a CronJob does next: at most one Job for the last time that is due, and the end of old Jobs.
import { isDeepStrictEqual } from 'node:util';

import type { CronJob } from '../../../api/kinds/batch/cronjob/kind.ts';
import { cronJobKind } from '../../../api/kinds/batch/cronjob/kind.ts';
import { jobKind } from '../../../api/kinds/batch/job/kind.ts';
import type { Job } from '../../../api/kinds/batch/job/schema.ts';
import { apiVersionOf } from '../../../api/kind.ts';
import { timestamp } from '../../../api/timestamp.ts';
import { endOf } from '../job/plan.ts';
import { referenceTo } from '../owner.ts';
import type { PlannedEvent } from '../../../client/event-correlator.ts';
import type { Schedule } from './times.ts';
import { nextTime, parseSchedule } from './times.ts';

export interface Observed {
  readonly cron: CronJob;
  /** The Jobs that it created. */
  readonly jobs: readonly Job[];
  readonly now: number;
}

export interface CronPlan {
  readonly create: Job | undefined;
  readonly remove: readonly Job[];
  /** undefined: it has not changed. */
  readonly status: CronJob['status'] | undefined;
  readonly events: readonly PlannedEvent[];
  readonly nextMs: number | undefined;
}

/** Above this number of missed times, the schedule or the clock is suspect. */
const maxMissed = 100;

/** Plans the next step. */
export function planCronJob({ cron, jobs, now }: Observed): CronPlan {
  const { spec } = cron;
  const events: PlannedEvent[] = [];
  const counted = withoutEnded(cron, jobs, events);
  const history = surplusJobs(cron, jobs);
  const done = (change: Partial<CronPlan> = {}, status = counted): CronPlan => ({
    create: undefined,
    remove: history,
    events,
    nextMs: undefined,
    ...change,
    status: isDeepStrictEqual(status, cron.status) ? undefined : status,
  });
  if (cron.metadata.deletionTimestamp !== undefined) return { ...done(), remove: [] };
  if (spec.suspend === true) return done();
  const schedule = parseSchedule(spec.schedule, spec.timeZone);
  const next = nextTime(schedule, now);
  const nextMs = next === undefined ? undefined : next - now + 100;
  if (next === undefined) {
    const why = 'time difference between two schedules is less than 1 second';
    events.push({ type: 'Warning', reason: 'InvalidSchedule', message: `invalid schedule: ${spec.schedule} : ${why}` });
  }
  const due = lastDue(cron, schedule, now);
  if (due.missed > maxMissed) {
    const message = `too many missed start times: ${due.missed}. Set or decrease .spec.startingDeadlineSeconds or check clock skew`;
    events.push({ type: 'Warning', reason: 'TooManyMissedTimes', message });
  }
  const { time } = due;
  const name = time === undefined ? '' : jobName(cron, time);
  if (time === undefined || jobs.some(({ metadata }) => metadata.name === name)) return done({ nextMs });
  const deadline = spec.startingDeadlineSeconds;
  if (deadline !== undefined && time + deadline * 1000 < now) {
    events.push({
      type: 'Warning',
      reason: 'MissSchedule',
      message: `Missed scheduled time to start a job: ${new Date(time).toUTCString()}`,
    });
    return done({ nextMs });
  }
  const active = jobs.filter((job) => endOf(job) === undefined && job.metadata.deletionTimestamp === undefined);
  if (spec.concurrencyPolicy === 'Forbid' && active.length > 0) {
    events.push({
      type: 'Normal',
      reason: 'JobAlreadyActive',
      message: 'Not starting job because prior execution is running and concurrency policy is Forbid',
    });
    return done({ nextMs });
  }
  const replaced = spec.concurrencyPolicy === 'Replace' ? active : [];
  const status = { ...counted, lastScheduleTime: timestamp(time) };
  return done({ nextMs, create: jobOf(cron, time), remove: [...history, ...replaced] }, status);
}

/** The name of the Job of a time, so that a second run of the same time collides. */
const jobName = ({ metadata }: CronJob, time: number): string => `${metadata.name}-${Math.floor(time / 60_000)}`;

/** The last time that is due and was not handled, and how many were missed. */
function lastDue(
  cron: CronJob,
  schedule: Schedule,
  now: number,
): { readonly time: number | undefined; readonly missed: number } {
  const { lastScheduleTime } = cron.status;
  const created = Date.parse(cron.metadata.creationTimestamp ?? '');
  let from = lastScheduleTime ? Date.parse(lastScheduleTime) : created;
  const { startingDeadlineSeconds: deadline } = cron.spec;
  if (deadline !== undefined) from = Math.max(from, now - deadline * 1000);
  if (Number.isNaN(from)) return { time: undefined, missed: 0 };
  let time: number | undefined;
  let missed = 0;
  for (let next = nextTime(schedule, from); next !== undefined && next <= now; next = nextTime(schedule, next)) {
    time = next;
    missed++;
    if (missed <= maxMissed) continue;
    // After a long pause: skip to shortly before now. Schedules are regular enough for an estimate of the interval.
    const interval = (next - from) / missed;
    const jump = Math.max(next, now - 10 * interval);
    if (jump > next) {
      missed += Math.floor((jump - next) / interval);
      next = jump;
    }
  }
  return { time, missed: Math.max(0, missed - 1) };
}

/** The status without Jobs that have ended or are gone. */
function withoutEnded(cron: CronJob, jobs: readonly Job[], events: PlannedEvent[]): CronJob['status'] {
  const { active: before = [], ...status } = cron.status;
  const byUid = new Map(jobs.map((job) => [job.metadata.uid ?? '', job]));
  let { lastSuccessfulTime } = status;
  for (const { uid = '', name = '' } of before) {
    const job = byUid.get(uid);
    const end = job && endOf(job);
    if (job === undefined)
      events.push({ type: 'Normal', reason: 'MissingJob', message: `Active job went missing: ${name}` });
    else if (end !== undefined) {
      events.push({
        type: 'Normal',
        reason: 'SawCompletedJob',
        message: `Saw completed job: ${name}, condition: ${end.type}`,
      });
    }
  }
  for (const job of jobs) {
    const end = endOf(job);
    const { completionTime } = job.status;
    if (end?.type !== 'Complete' || !completionTime) continue;
    if (!lastSuccessfulTime || Date.parse(completionTime) > Date.parse(lastSuccessfulTime))
      lastSuccessfulTime = completionTime;
  }
  const running = jobs
    .filter((job) => endOf(job) === undefined)
    .map(({ metadata: { namespace = '', name = '', uid = '', resourceVersion = '' } }) => {
      // The revision is that of the first observation: a change of the Job is not one of the CronJob.
      const known = before.find((each) => each.uid === uid);
      return known ?? { kind: jobKind.kind, namespace, name, uid, apiVersion: apiVersionOf(jobKind), resourceVersion };
    });
  return {
    ...(running.length === 0 ? {} : { active: running }),
    ...status,
    ...(lastSuccessfulTime ? { lastSuccessfulTime } : {}),
  };
}

/** Jobs that ended above the limits, oldest first. */
function surplusJobs({ spec }: CronJob, jobs: readonly Job[]): readonly Job[] {
  const surplus = (type: string, limit = 0): readonly Job[] => {
    const ended = jobs
      .filter((job) => endOf(job)?.type === type)
      .toSorted((left, right) => startOf(left) - startOf(right));
    return ended.slice(0, Math.max(0, ended.length - limit));
  };
  return [
    ...surplus('Complete', spec.successfulJobsHistoryLimit ?? 3),
    ...surplus('Failed', spec.failedJobsHistoryLimit ?? 1),
  ].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

const startOf = ({ status, metadata }: Job): number =>
  Date.parse(status.startTime ?? metadata.creationTimestamp ?? '') || 0;

function jobOf(cron: CronJob, time: number): Job {
  const { metadata, spec } = cron.spec.jobTemplate;
  const zone = cron.spec.timeZone ?? 'UTC';
  const annotations = { ...metadata.annotations, 'batch.kubernetes.io/cronjob-scheduled-timestamp': zoned(time, zone) };
  return {
    metadata: {
      namespace: cron.metadata.namespace ?? '',
      name: jobName(cron, time),
      ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
      annotations,
      ownerReferences: [referenceTo(cronJobKind, cron)],
    },
    spec,
    status: {},
  };
}

/** RFC 3339 with the offset of a zone. */
function zoned(time: number, timeZone: string): string {
  if (timeZone === 'UTC') return timestamp(time);
  const parts = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' }).formatToParts(time);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT';
  const [, sign = '+', hours = '00', minutes = '00'] = /GMT([+-])(\d{2}):(\d{2})/.exec(name) ?? [];
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  return offset === 0 ? timestamp(time) : `${timestamp(time + offset).slice(0, -1)}${sign}${hours}:${minutes}`;
}
