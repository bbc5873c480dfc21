// Events have two forms. The old one has no eventTime and few rules; the new one must be complete.
import type { FieldError } from '../../../field-errors.ts';
import { invalidAll, invalidValue, required } from '../../../field-errors.ts';
import { dnsSubdomainErrors, qualifiedNameErrors } from '../../../names.ts';
import type { Event } from './schema.ts';

/** Validation errors of an event; `controllerField` is the field of the reporter in the API version of the request. */
export function eventErrors(event: Event, controllerField: 'reportingComponent' | 'reportingController'): FieldError[] {
  const { namespace = '' } = event.metadata;
  return [
    ...(event.eventTime ? newFormErrors(event, controllerField) : oldFormErrors(event)),
    ...invalidAll('namespace', namespace, dnsSubdomainErrors(namespace)),
  ];
}

const mismatch = (event: Event): FieldError =>
  invalidValue('involvedObject.namespace', event.involvedObject.namespace ?? '', 'does not match event.namespace');

function oldFormErrors(event: Event): readonly FieldError[] {
  const { namespace = '' } = event.metadata;
  const involved = event.involvedObject.namespace ?? '';
  // Events about cluster-scoped objects are in `default`.
  const agrees = involved === '' ? namespace === '' || namespace === 'default' : involved === namespace;
  return agrees ? [] : [mismatch(event)];
}

function newFormErrors(event: Event, controllerField: string): readonly FieldError[] {
  const { reportingComponent, reportingInstance, action = '', reason = '', message = '', metadata } = event;
  const errors: FieldError[] = [];
  if (!event.involvedObject.namespace && metadata.namespace !== 'default' && metadata.namespace !== 'kube-system') {
    errors.push(mismatch(event));
  }
  if (reportingComponent === '') errors.push(required(controllerField));
  errors.push(
    ...qualifiedNameErrors(reportingComponent).map((problem) =>
      invalidValue(controllerField, reportingComponent, problem),
    ),
    ...textErrors('reportingInstance', reportingInstance, 128),
    ...textErrors('action', action, 128),
    ...textErrors('reason', reason, 128),
  );
  if (message.length > 1024) errors.push(tooManyCharacters('message', 1024));
  return errors;
}

const tooManyCharacters = (path: string, max: number): FieldError =>
  invalidValue(path, '', `can have at most ${max} characters`);

function textErrors(path: string, text: string, max: number): readonly FieldError[] {
  if (text === '') return [required(path)];
  return text.length > max ? [tooManyCharacters(path, max)] : [];
}
