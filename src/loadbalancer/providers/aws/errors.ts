// Classifies AWS errors for retries.
import { messageOf } from '../../../api/error-message.ts';
import { RetryError } from '../../controller/provider.ts';

/** The retry delay if AWS does not return one. */
const defaultRetryMs = 5000;
/** Provisioning takes one to three minutes. */
export const provisioningMs = 10_000;

const throttlingErrors = new Set([
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
  'RequestLimitExceeded',
]);

/** The resources changed since they were read: reconcile again. */
const staleErrors = new Set([
  'DependencyViolation', // a security group that a load balancer being deleted still uses
  'DuplicateListenerException',
  'DuplicateLoadBalancerNameException',
  'DuplicateTargetGroupNameException',
  'InvalidGroup.Duplicate',
  'InvalidGroup.NotFound',
  'InvalidPermission.Duplicate',
  'InvalidPermission.NotFound',
  'ListenerNotFoundException',
  'LoadBalancerNotFoundException',
  'ResourceInUseException',
  'TargetGroupAssociationLimitException',
  'TargetGroupNotFoundException',
]);

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '');

/** The resource does not exist. */
export const isGone = (error: unknown): boolean =>
  [
    'InvalidGroup.NotFound',
    'ListenerNotFoundException',
    'LoadBalancerNotFoundException',
    'TargetGroupNotFoundException',
  ].includes(nameOf(error));

/** A target is invalid, so AWS registered none of the call. */
export const isInvalidTarget = (error: unknown): boolean => nameOf(error) === 'InvalidTargetException';

/** Converts an error into a RetryError, or adds the failed operation. */
export function wrapError(error: unknown, what: string): unknown {
  const name = nameOf(error);
  if (error instanceof RetryError || name === 'AbortError') return error;
  const message = messageOf(error);
  if (isThrottling(error)) return new RetryError(`AWS throttles requests: ${what}`, hintOf(error));
  if (staleErrors.has(name)) return new RetryError(`${what}: ${message}`, defaultRetryMs);
  if (name === 'CredentialsProviderError')
    return new Error(`no credentials for AWS: set AWS_PROFILE, or run with a role (${message})`, { cause: error });
  return new Error(`${what}: ${message}`, { cause: error });
}

function isThrottling(error: unknown): boolean {
  if (throttlingErrors.has(nameOf(error))) return true;
  const metadata = fieldOf(error, '$metadata');
  const status = fieldOf(metadata, 'httpStatusCode');
  return status === 429 || status === 503;
}

/** The delay of the Retry-After header. */
function hintOf(error: unknown): number {
  const headers = fieldOf(fieldOf(error, '$response'), 'headers');
  const seconds = Number(fieldOf(headers, 'retry-after'));
  return seconds > 0 && seconds < 600 ? seconds * 1000 : defaultRetryMs;
}

/** SDK errors have fields that are not in their type. */
const fieldOf = (value: unknown, field: string): unknown =>
  typeof value === 'object' && value !== null && field in value
    ? (value as Readonly<Record<string, unknown>>)[field]
    : undefined;
