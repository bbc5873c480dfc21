import type { FieldError } from '../../field-errors.ts';
import { invalidValue, required } from '../../field-errors.ts';
import { dnsSubdomainErrors, portNumberErrors } from '../../names.ts';
import type { ServiceReference, WebhookClientConfig } from './webhook-schema.ts';

/** Validation errors of the address of a webhook. */
export function clientConfigErrors(path: string, { url, service }: WebhookClientConfig): FieldError[] {
  if (url !== undefined && service === undefined) return urlErrors(`${path}.url`, url);
  if (url === undefined && service !== undefined) return serviceErrors(`${path}.service`, service);
  return [required(path, 'exactly one of url or service is required')];
}

const form = '; desired format: https://host[/path]';

interface UrlParts {
  readonly scheme: string;
  readonly authority: string;
  readonly query: string;
  readonly fragment: string;
}

/** Does not use `URL`, which accepts and completes URLs that Kubernetes rejects. */
function splitUrl(url: string): UrlParts {
  const [before = '', ...fragments] = url.split('#', 2);
  const [place = '', ...queries] = before.split('?', 2);
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(place)?.[1];
  const authority = /^\/\/([^/]*)/.exec(scheme === undefined ? place : place.slice(scheme.length + 1))?.[1];
  return { scheme: scheme ?? '', authority: authority ?? '', query: queries[0] ?? '', fragment: fragments[0] ?? '' };
}

function urlErrors(path: string, url: string): FieldError[] {
  const { scheme, authority, query, fragment } = splitUrl(url);
  const at = authority.lastIndexOf('@');
  const [user, host] = at < 0 ? [undefined, authority] : [authority.slice(0, at), authority.slice(at + 1)];
  return [
    ...(scheme.toLowerCase() === 'https'
      ? []
      : [invalidValue(path, scheme, `'https' is the only allowed URL scheme${form}`)]),
    ...(host === '' ? [invalidValue(path, host, `host must be specified${form}`)] : []),
    ...(user === undefined ? [] : [invalidValue(path, user, 'user information is not permitted in the URL')]),
    ...(fragment === '' ? [] : [invalidValue(path, fragment, 'fragments are not permitted in the URL')]),
    ...(query === '' ? [] : [invalidValue(path, query, 'query parameters are not permitted in the URL')]),
    ...(host === '' || URL.canParse(url) ? [] : [required(path, `url must be a valid URL${form}`)]),
  ];
}

function serviceErrors(path: string, { name, namespace, port = 443, path: called }: ServiceReference): FieldError[] {
  const portErrors = portNumberErrors(port);
  return [
    ...(name === '' ? [required(`${path}.name`, 'service name is required')] : []),
    ...(namespace === '' ? [required(`${path}.namespace`, 'service namespace is required')] : []),
    ...(portErrors.length === 0
      ? []
      : [invalidValue(`${path}.port`, port, `port is not valid: ${portErrors.join(', ')}`)]),
    ...pathErrors(`${path}.path`, called ?? ''),
  ];
}

/** Responses list only the first 100 errors. */
const maxSegments = 200;

function pathErrors(path: string, called: string): FieldError[] {
  if (called === '' || called === '/') return [];
  const steps = called === '//' ? [''] : called.slice(1).replace(/\/$/, '').split('/', maxSegments);
  return [
    ...(called.startsWith('/') ? [] : [invalidValue(path, called, "must start with a '/'")]),
    ...steps.flatMap((step, index) =>
      step === ''
        ? [invalidValue(path, called, `segment[${index}] may not be empty`)]
        : dnsSubdomainErrors(step).map((problem) => invalidValue(path, called, `segment[${index}]: ${problem}`)),
    ),
  ];
}
