import type { MetricSpec, MetricStatus, MetricTarget, MetricValue } from './schema.ts';

const shown = 2;

/** The current and desired values of metrics, as `kubectl get` prints them. */
export function targetsText(metrics: readonly MetricSpec[], statuses: readonly MetricStatus[]): string {
  if (metrics.length === 0) return '<none>';
  const texts = metrics.map((metric, index) => targetText(metric, statuses[index]));
  const more = texts.length > shown ? ` + ${texts.length - shown} more...` : '';
  return texts.slice(0, shown).join(', ') + more;
}

function targetText(metric: MetricSpec, status: MetricStatus | undefined): string {
  const { type, external, pods, object, resource, containerResource } = metric;
  if (type === 'External' && external !== undefined) return valueText(external.target, status?.external?.current);
  if (type === 'Object' && object !== undefined) return valueText(object.target, status?.object?.current);
  if (type === 'Pods' && pods !== undefined) {
    return `${status?.pods?.current.averageValue ?? unknown}/${pods.target.averageValue ?? ''}`;
  }
  if (type === 'Resource' && resource !== undefined) return resourceText(resource, status?.resource?.current);
  if (type === 'ContainerResource' && containerResource !== undefined) {
    return resourceText(containerResource, status?.containerResource?.current);
  }
  return '<unknown type>';
}

const unknown = '<unknown>';

function valueText({ value, averageValue }: MetricTarget, current: MetricValue | undefined): string {
  if (averageValue !== undefined) return `${current?.averageValue ?? unknown}/${averageValue} (avg)`;
  return `${current?.value ?? unknown}/${value ?? ''}`;
}

interface Resource {
  readonly name: string;
  readonly target: MetricTarget;
}

function resourceText({ name, target }: Resource, current: MetricValue | undefined): string {
  const { averageValue, averageUtilization } = target;
  if (averageValue !== undefined) return `${name}: ${current?.averageValue ?? unknown}/${averageValue}`;
  const percent = (value: number | undefined, none: string): string => (value === undefined ? none : `${value}%`);
  return `${name}: ${percent(current?.averageUtilization, unknown)}/${percent(averageUtilization, '<auto>')}`;
}
