import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseData, printData } from './text.ts';

describe('data in zone file format', () => {
  const rows = [
    ['A', '192.0.2.1'],
    ['AAAA', '2001:db8::1'],
    ['CNAME', 'www.example.org.'],
    ['SRV', '0 100 88 idm.example.org.'],
    ['TXT', '"one" "two words"'],
    ['TXT', '"a \\"quoted\\" word and a \\\\"'],
  ] as const;
  for (const [type, text] of rows)
    test(`${type} ${text} survives parsing and printing`, () => {
      const data = parseData(type, text);
      assert.equal(data && printData(data), text);
    });

  const malformed = [
    ['A', '2001:db8::1'],
    ['A', '192.0.2.256'],
    ['AAAA', '192.0.2.1'],
    ['CNAME', 'a..b.'],
    ['SRV', '0 100 88'],
    ['SRV', '0 100 65536 a.'],
    ['TXT', 'plain'],
    ['TXT', '"open'],
    ['TXT', '"ends in a backslash\\'],
    ['TXT', ''],
    ['MX', '10 a.'],
  ] as const;
  for (const [type, text] of malformed)
    test(`${type} ${text} is malformed`, () => assert.equal(parseData(type, text), undefined));
});
