// What is measured in the browser.
import type { Page } from 'playwright-core';

/** Milliseconds since the navigation until the map shows a number of Services. */
export async function paintMs(page: Page, url: string, services: string): Promise<number> {
  await page.goto(url);
  return page.evaluate<number>(
    `new Promise((resolve) => {
      const look = () => {
        const isDrawn = document.querySelector('.map .tile') !== null;
        if (isDrawn && document.body.textContent.includes('${services} Services')) resolve(performance.now());
        else requestAnimationFrame(look);
      };
      look();
    })`,
  );
}

/** Resolves with the time since the epoch of the first frame in which the tile of a cluster has a text. */
export const seenAt = (page: Page, { namespace, text }: { namespace: string; text: string }): Promise<number> =>
  page.evaluate<number>(
    `new Promise((resolve) => {
      const look = () => {
        const tile = document.querySelector('[aria-label="Namespace ${namespace}"] .tile');
        if (tile?.textContent.includes(${JSON.stringify(text)})) resolve(Date.now());
        else requestAnimationFrame(look);
      };
      look();
    })`,
  );

/** Frames in a time: how many a second, and the longest gap between two in milliseconds. */
export const frames = (page: Page, ms: number): Promise<{ readonly perSecond: number; readonly longestMs: number }> =>
  page.evaluate(
    `new Promise((resolve) => {
      const begin = performance.now();
      let [count, last, longestMs] = [0, begin, 0];
      const next = (now) => {
        longestMs = Math.max(longestMs, now - last);
        last = now;
        count++;
        if (now - begin < ${ms}) requestAnimationFrame(next);
        else resolve({ perSecond: (count * 1000) / (now - begin), longestMs });
      };
      requestAnimationFrame(next);
    })`,
  );

/** The processor seconds that the page has used so far. */
export async function pageSeconds(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const { metrics } = await session.send('Performance.getMetrics');
  await session.detach();
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? NaN;
}
