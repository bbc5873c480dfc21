import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { argvOf, imageOf, isImageName, notMapped, parseImageMapping, programOf, searchPath } from './images.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fairlead-images-'));
  await mkdir(join(directory, 'web', 'bin'), { recursive: true });
  await writeFile(join(directory, 'web', 'bin', 'serve'), '', { mode: 0o755 });
  await writeFile(join(directory, 'tool'), '', { mode: 0o755 });
});
after(() => rm(directory, { recursive: true }));

test('an image is found by its name, with or without tag, digest and default registry', () => {
  const digest = `sha256:${'0a'.repeat(32)}`;
  const images = new Map(
    [
      `web=${directory}/web`,
      `docker.io/library/tool:1=${directory}/tool`,
      `reg:5000/a/b=${directory}/tool one two`,
    ].map(parseImageMapping),
  );
  const table: readonly (readonly [image: string, path: string | undefined])[] = [
    ['web', `${directory}/web`],
    ['web:2', `${directory}/web`],
    [`web@${digest}`, `${directory}/web`],
    [`web:2@${digest}`, `${directory}/web`],
    ['docker.io/library/web:2', `${directory}/web`],
    ['tool:1', `${directory}/tool`],
    [`tool:1@${digest}`, `${directory}/tool`],
    ['tool', undefined],
    ['tool:2', undefined],
    ['reg:5000/a/b:9', `${directory}/tool`],
    ['reg:5000/a', undefined],
    ['quay.io/web', undefined],
  ];
  for (const [image, path] of table) assert.equal(imageOf({ image }, images)?.path, path, image);
  assert.deepEqual(imageOf({ image: 'process' }, images)?.entrypoint, []);
});

test('a mapping that cannot work is an error', () => {
  const table: readonly (readonly [text: string, message: RegExp])[] = [
    ['web', /expected IMAGE=PATH/],
    ['=/bin', /expected IMAGE=PATH/],
    ['web=', /expected IMAGE=PATH/],
    ['web=bin/x', /absolute path/],
    [`web=${directory}/none`, /none does not exist/],
  ];
  for (const [text, message] of table) assert.throws(() => parseImageMapping(text), { message });
});

test('a command replaces entrypoint and arguments of an image, arguments replace its arguments', () => {
  const [, image] = parseImageMapping(`tool=${directory}/tool pause now`);
  const table: readonly (readonly [command: string[], args: string[], argv: string[]])[] = [
    [[], [], [`${directory}/tool`, 'pause', 'now']],
    [[], ['serve'], [`${directory}/tool`, 'serve']],
    [['/tool'], [], ['/tool']],
    [['/tool'], ['serve'], ['/tool', 'serve']],
  ];
  for (const [command, args, argv] of table) assert.deepEqual(argvOf(image, { command, args }), argv);
});

test('programs of an image are found by their paths in it', async () => {
  const [, web] = parseImageMapping(`web=${directory}/web bin/serve`);
  const [, tool] = parseImageMapping(`tool=${directory}/tool`);
  const found = [
    await programOf(web, 'bin/serve'),
    await programOf(web, '/bin/serve'),
    await programOf(web, '/bin/sh'),
    await programOf(web, 'serve'),
    await programOf(tool, '/tool'),
    await programOf(tool, 'sh'),
  ];
  const serve = `${directory}/web/bin/serve`;
  assert.deepEqual(found, [serve, serve, '/bin/sh', 'serve', `${directory}/tool`, 'sh']);
  assert.equal(await searchPath(web, '/usr/bin'), `${directory}/web/bin:${directory}/web:/usr/bin`);
  assert.equal(await searchPath(tool, '/usr/bin'), '/usr/bin');
});

test('names of images are checked', () => {
  for (const name of ['web', 'a/b:1', 'reg:5000/a/b@sha256:00', 'Reg.example.org/a__b'])
    assert.ok(isImageName(name), name);
  for (const name of ['', 'Web:', 'a b', 'a/B', 'web:', ':1']) assert.ok(!isImageName(name), name);
  assert.match(notMapped('reg:5000/web:2'), /--image-map 'reg:5000\/web=PATH'/);
});
