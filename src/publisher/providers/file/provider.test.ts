import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { conflictContract, converge, plan, providerContract, published, zone } from '../testing/contract.ts';
import { FileProvider } from './provider.ts';

describe('the file provider', () => {
  let directory = '';
  before(async () => (directory = await mkdtemp(join(tmpdir(), 'fairlead-zones-'))));
  after(() => rm(directory, { recursive: true }));
  const open = async (): Promise<FileProvider> => new FileProvider({ zones: [zone], directory });
  const path = (): string => join(directory, 'example.org.zone');
  const one = 'one.example.org 60 A 192.0.2.1';

  providerContract(open);
  conflictContract(open);

  test('writes sorted records with absolute names, and leaves no other file behind', async () => {
    await using provider = await open();
    await converge(provider, `two.example.org 60 A 192.0.2.2\n${one}`);
    const txt = '"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/shop"';
    assert.deepEqual((await readFile(path(), 'utf8')).split('\n'), [
      '; Written by fairlead publisher, which replaces this file.',
      `a-one.example.org. 60 IN TXT ${txt}`,
      `a-two.example.org. 60 IN TXT ${txt}`,
      'one.example.org. 60 IN A 192.0.2.1',
      'two.example.org. 60 IN A 192.0.2.2',
      '',
    ]);
    assert.deepEqual(await readdir(directory), ['example.org.zone']);
  });

  test('keeps records that others added, of any type', async () => {
    await using provider = await open();
    await converge(provider, one);
    const text = await readFile(path(), 'utf8');
    await writeFile(path(), `${text}mail.example.org. 300 IN MX 10 one.example.org.\n`);
    await converge(provider, '');
    assert.match(await readFile(path(), 'utf8'), /^mail\.example\.org\. 300 IN MX 10 one\.example\.org\.$/m);
    assert.deepEqual(await published(provider), []);
  });

  test('starts again with a file that was removed', async () => {
    await using provider = await open();
    await converge(provider, one);
    await rm(path());
    await converge(provider, one);
    assert.deepEqual(await published(provider), [one]);
  });

  test('does not replace a file that it did not write', async () => {
    await using provider = await open();
    for (const line of ['$ORIGIN example.org.', 'www IN A 192.0.2.1', 'www.example.org. 60 IN A 192.0.2.999']) {
      await writeFile(path(), `\n${line}\n`);
      await assert.rejects(
        plan(provider, one),
        /zone file .*example\.org\.zone: line 2 is not a record .*: remove the file, or choose another directory/,
      );
    }
    await rm(path());
  });

  test('reports a directory that does not exist', async () => {
    await using provider = new FileProvider({ zones: [zone], directory: join(directory, 'missing') });
    await assert.rejects(converge(provider, one), /zone file .*missing.example\.org\.zone cannot be written: ENOENT/);
  });
});
