// Chromium, as people look at the dashboard with it.
import axe from 'axe-core';
import type { AxeResults } from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { chromium } from 'playwright-core';

import { find, unlessInstalled } from '../harness/needs.ts';

/** For `skip` of tests with a browser. */
export const withoutChromium = unlessInstalled('chromium');

/** Starts the Chromium of the system. The sandbox needs rights that CI does not have; it loads only our own page. */
export const startChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: find('chromium') ?? 'chromium',
    chromiumSandbox: false,
    args: ['--disable-dev-shm-usage', '--disable-background-networking', '--no-first-run'],
  });

/** The address of the page, in the output of `fairlead up` or `fairlead dashboard`. */
export const pageAddress = (printed: string): string => /^ {2}map +(\S+)$/m.exec(printed)?.[1] ?? '';

export interface OpenPage extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts and of the console, and requests to other servers. */
  readonly problems: readonly string[];
}

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: 'light' | 'dark';
  /** For certificates of tests. */
  readonly ignoresCertificate?: boolean;
}

/** Opens the dashboard in a browser context of its own, which is signed in by its address. */
export async function openPage(
  browser: Browser,
  url: string,
  { width = 1280, height = 860, colorScheme = 'light', ignoresCertificate = false }: PageOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    reducedMotion: 'reduce',
    ignoreHTTPSErrors: ignoresCertificate,
  });
  const page = await context.newPage();
  const problems: string[] = [];
  const { origin } = new URL(url);
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text());
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) problems.push(`request to ${request.url()}`);
  });
  await page.goto(url);
  return { page, context, problems, [Symbol.asyncDispose]: () => context.close() };
}

/** Serious problems of accessibility, each with the first element at fault. */
export async function accessibilityProblems(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes[0]?.html ?? ''}`);
}

/** By how many pixels the page is wider than the window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
