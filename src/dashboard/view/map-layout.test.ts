import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { importRowOf, serviceRowOf } from '../testing/rows.ts';
import type { Band } from './bands.ts';
import { bandOf } from './bands.ts';
import type { Detail, PlacedBand } from './map-layout.ts';
import { columnsIn, detailFor, placeBand, stack, visibleBands } from './map-layout.ts';
import type { Row } from './rows.ts';

const clusters = ['east', 'north', 'west'];
const details: readonly Detail[] = ['tiles', 'names', 'cards'];

function band(rows: readonly Row[]): Band {
  const found = bandOf('shop', rows);
  assert.ok(found !== undefined);
  return found;
}
const place = (
  rows: readonly Row[],
  detail: Detail = 'cards',
  width = 1200,
  lost: readonly string[] = [],
): PlacedBand => placeBand(band(rows), { columns: columnsIn(clusters, width), detail, lost: new Set(lost) });

const shared: readonly Row[] = [
  serviceRowOf('east', 'shop/cart', { exported: 'accepted' }),
  importRowOf('east', 'shop/cart', ['east']),
  importRowOf('west', 'shop/cart', ['east']),
  serviceRowOf('north', 'shop/alone'),
];

test('columns share the width, and are scrolled if it is too small', () => {
  const wide = columnsIn(clusters, 1200);
  const end = (wide[2]?.x ?? 0) + (wide[2]?.width ?? 0);
  assert.ok(end > 1190 && end <= 1200, `${end}`);
  const narrow = columnsIn(clusters, 340);
  assert.ok(narrow.every(({ width }) => width === 300));
  assert.ok(columnsIn(['east'], 320).every(({ width }) => width === 320));
});

test('the detail depends on the number of things', () => {
  assert.deepEqual([3, 300, 5000].map(detailFor), ['cards', 'names', 'tiles']);
});

test('what has one name in several clusters is on one line', () => {
  const { nodes } = place(shared, 'cards', 2400);
  const heights = nodes.filter(({ row }) => row.name === 'cart').map(({ y }) => y);
  assert.equal(new Set(heights).size, 1);
});

test('an export is connected with its imports, and the edge shows its state', () => {
  const { edges } = place(shared);
  assert.equal(edges.length, 1);
  assert.deepEqual(
    edges[0]?.stems.map(({ kind }) => kind),
    ['export', 'import', 'import'],
  );
  assert.equal(edges[0]?.text, 'exported by east');
  assert.equal(edges[0]?.state, 'ok');
  const stateOf = (exported: 'pending' | 'conflict' | 'invalid', lost: readonly string[] = []) =>
    place([serviceRowOf('east', 'shop/cart', { exported })], 'cards', 1200, lost).edges[0]?.state;
  assert.deepEqual([stateOf('pending'), stateOf('conflict'), stateOf('invalid')], ['pending', 'conflict', 'conflict']);
  assert.equal(place(shared, 'cards', 1200, ['east']).edges[0]?.state, 'lost');
});

test('bands with less detail have one edge for all that they share', () => {
  for (const detail of ['tiles', 'names'] as const) {
    assert.deepEqual(
      place(shared, detail).edges.map(({ text }) => text),
      ['1 shared'],
    );
  }
});

const rowsArbitrary = fc
  .array(
    fc.record({
      cluster: fc.constantFrom(...clusters),
      name: fc.integer({ min: 0, max: 12 }).map((number) => `web-${number}`),
      isImport: fc.boolean(),
      isExported: fc.boolean(),
      external: fc.integer({ min: 0, max: 5 }),
      hasFinding: fc.boolean(),
    }),
    { minLength: 1, maxLength: 40 },
  )
  .map((all) =>
    all.map(({ cluster, name, isImport, isExported, external, hasFinding }): Row => {
      const findings = hasFinding ? [{ level: 'error' as const, reason: 'Conflict', text: 'x' }] : [];
      if (isImport) return importRowOf(cluster, `shop/${name}`, ['east', 'west'], { findings });
      const addresses = Array.from({ length: external }, (_, index) => `192.0.2.${index}`);
      return serviceRowOf(cluster, `shop/${name}`, {
        findings,
        external: addresses,
        ...(isExported ? { exported: 'accepted' as const } : {}),
      });
    }),
  );

test('nothing overlaps, leaves its column, or is below the end of its band', () => {
  fc.assert(
    fc.property(
      rowsArbitrary,
      fc.constantFrom(...details),
      fc.integer({ min: 320, max: 2400 }),
      (rows, detail, width) => {
        const columns = columnsIn(clusters, width);
        const { nodes, tiles, height } = place(rows, detail, width);
        const boxes = [...nodes, ...tiles];
        for (const [index, box] of boxes.entries()) {
          const right = box.x + box.width;
          assert.ok(
            columns.some((column) => box.x >= column.x && right <= column.x + column.width),
            'in its column',
          );
          assert.ok(box.y >= 0 && box.y + box.height <= height, 'in its band');
          for (const other of boxes.slice(index + 1)) {
            const isBeside = right <= other.x || other.x + other.width <= box.x;
            const isBelow = box.y + box.height <= other.y || other.y + other.height <= box.y;
            assert.ok(isBeside || isBelow, 'no overlap');
          }
        }
      },
    ),
  );
});

test('the place of a thing does not depend on the order in which rows arrive', () => {
  fc.assert(
    fc.property(rowsArbitrary, (rows) => {
      const unique = [...new Map(rows.map((row) => [row.id, row])).values()];
      const placesOf = (all: readonly Row[]) =>
        place(all)
          .nodes.map(({ row, x, y }) => `${row.id} ${x} ${y}`)
          .toSorted();
      assert.deepEqual(placesOf(unique), placesOf(unique.toReversed()));
    }),
  );
});

test('only bands on the screen are drawn', () => {
  const placed = place(shared);
  const { bands, height } = stack(Array.from({ length: 100 }, () => placed));
  assert.equal(height, 100 * placed.height);
  const visible = visibleBands(bands, 10.5 * placed.height, 12.5 * placed.height);
  assert.deepEqual(
    visible.map(({ y }) => y / placed.height),
    [10, 11, 12],
  );
  assert.equal(visibleBands(bands, height + 1, height + 100).length, 0);
  assert.equal(visibleBands(bands, 0, height).length, 100);
});
