import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { test } from 'node:test';
import { rejectionOf } from './request-guard.ts';

const isOwn = (host: string): boolean => ['127.0.0.1:8080', 'localhost:8080'].includes(host);
const own = { host: '127.0.0.1:8080' };

const cases: readonly {
  readonly name: string;
  readonly method?: string;
  readonly isForData?: boolean;
  readonly headers: IncomingHttpHeaders;
  readonly want: number | undefined;
}[] = [
  { name: 'the own host', headers: own, want: undefined },
  { name: 'the own host in upper case', headers: { host: 'LOCALHOST:8080' }, want: undefined },
  {
    name: 'a name that an attacker points to this address (DNS rebinding)',
    headers: { host: 'evil.example:8080' },
    want: 421,
  },
  { name: 'the own address with another port', headers: { host: '127.0.0.1:9090' }, want: 421 },
  { name: 'no host', headers: {}, want: 421 },
  { name: 'a link to the page on another site', headers: { ...own, 'sec-fetch-site': 'cross-site' }, want: undefined },
  {
    name: 'data for the own page',
    isForData: true,
    headers: { ...own, 'sec-fetch-site': 'same-origin' },
    want: undefined,
  },
  { name: 'data for a program', isForData: true, headers: own, want: undefined },
  {
    name: 'data for a person who typed the address',
    isForData: true,
    headers: { ...own, 'sec-fetch-site': 'none' },
    want: undefined,
  },
  { name: 'data for another site', isForData: true, headers: { ...own, 'sec-fetch-site': 'cross-site' }, want: 403 },
  {
    name: 'data for another port of this machine',
    isForData: true,
    headers: { ...own, 'sec-fetch-site': 'same-site' },
    want: 403,
  },
  {
    name: 'data with another origin',
    isForData: true,
    headers: { ...own, origin: 'http://127.0.0.1:9090' },
    want: 403,
  },
  { name: 'data with an opaque origin', isForData: true, headers: { ...own, origin: 'null' }, want: 403 },
  {
    name: 'a POST of the own page',
    method: 'POST',
    isForData: true,
    headers: { ...own, origin: 'http://127.0.0.1:8080' },
    want: undefined,
  },
  { name: 'a POST without an origin', method: 'POST', isForData: true, headers: own, want: 403 },
  {
    name: 'a POST that a person typed',
    method: 'POST',
    isForData: true,
    headers: { ...own, origin: 'http://127.0.0.1:8080', 'sec-fetch-site': 'none' },
    want: 403,
  },
  {
    name: 'a POST from one allowed host to another',
    method: 'POST',
    isForData: true,
    headers: { ...own, origin: 'http://localhost:8080' },
    want: 403,
  },
];

for (const { name, method = 'GET', isForData = false, headers, want } of cases) {
  test(`${want === undefined ? 'accepts' : 'rejects'} ${name}`, () => {
    assert.equal(rejectionOf({ method, isForData, headers }, isOwn)?.status, want);
  });
}
