import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { audienceIncludes, parseAudience } from './audience.ts';

const east = { id: 'east', labels: { tier: 'prod', region: 'eu' } };
const west = { id: 'west', labels: { tier: 'prod', region: 'us' } };
const lab = { id: 'lab', labels: { tier: 'test' } };
const bare = { id: 'bare' };

describe('an audience', () => {
  const valid: readonly { readonly text: string; readonly want: readonly string[] }[] = [
    { text: 'east', want: ['east'] },
    { text: ' east , bare ', want: ['east', 'bare'] },
    { text: 'east; lab;', want: ['east', 'lab'] },
    { text: 'tier=prod', want: ['east', 'west'] },
    { text: 'tier=prod,region=us', want: ['west'] },
    { text: 'tier in (prod, test); bare', want: ['east', 'west', 'lab', 'bare'] },
    { text: 'tier!=prod', want: ['lab', 'bare'] },
    { text: '!tier', want: ['bare'] },
    { text: 'north', want: [] },
    { text: 'constructor=x', want: [] },
  ];
  for (const { text, want } of valid) {
    test(`"${text}" includes ${want.join(', ') || 'no member'}`, () => {
      const audience = parseAudience(text);
      assert.equal(audience.problem, undefined);
      const members = [east, west, lab, bare].filter((member) => audienceIncludes(audience, member));
      assert.deepEqual(
        members.map(({ id }) => id),
        want,
      );
    });
  }

  const invalid: readonly { readonly text: string; readonly want: RegExp }[] = [
    { text: '', want: /^it is empty: write ids of members and selectors/ },
    { text: ' ; ', want: /^it is empty/ },
    { text: 'east,,west', want: /^"" is not the id of a member; write ids/ },
    { text: 'East', want: /^"East" is not the id of a member/ },
    { text: 'east west', want: /^"east west" is not the id of a member/ },
    { text: 'tier in prod', want: /^"tier in prod" is not the id of a member/ },
    { text: 'east; tier=(a', want: /^"tier=\(a" is not a label selector: unable to parse requirement/ },
    {
      text: 'east; tier=a=b',
      want: /^"tier=a=b" is not a label selector: found '=', expected: ',' or 'end of string'/,
    },
    { text: 'x'.repeat(300), want: /^"x{80}…" is not the id of a member/ },
    {
      text: Array.from({ length: 257 }, (_, index) => `c${index}`).join(),
      want: /^it has more than 256 entries: use labels/,
    },
  ];
  for (const { text, want } of invalid) {
    test(`"${text.slice(0, 20)}" is invalid and includes no member`, () => {
      const audience = parseAudience(text);
      assert.match(audience.problem ?? '', want);
      assert.ok(![east, west, lab, bare].some((member) => audienceIncludes(audience, member)));
    });
  }
});
