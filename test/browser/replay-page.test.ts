/** The replay page in a browser: display, keyboard use, accessibility, and printing. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { pageOf } from '#cli/testing';
import type { ReplayResult } from '#replay/run';
import { sampleResult, stoppedResult } from '../unit/cli/replay/results.ts';
import { axeViolations } from './axe.ts';
import { startChromium } from './chromium.ts';

let folder: string;
let browser: Browser;
let page: Page;
/** Errors of the page, and its requests. */
let complaints: string[];
let requests: string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'replay-page-'));
  browser = await startChromium();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  complaints = [];
  requests = [];
});
afterEach(() => page?.close());

interface Look {
  readonly scheme?: 'light' | 'dark';
  readonly scripts?: boolean;
  readonly width?: number;
}

async function open(
  result: ReplayResult,
  { scheme = 'light', scripts = true, width = 1400 }: Look = {},
): Promise<void> {
  const url = pathToFileURL(join(folder, 'replay.html')).href;
  writeFileSync(join(folder, 'replay.html'), pageOf(result));
  page = await browser.newPage({ colorScheme: scheme, javaScriptEnabled: scripts, viewport: { width, height: 1000 } });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(url);
  requests = requests.filter((each) => each !== url && each !== 'data:,');
}

const tip = (id: string) => page.locator(`#${id} .tip`);
const linesShown = () => page.locator('#rate path.line:visible').count();

describe('the replay page', () => {
  it('makes no requests, and causes no errors', async () => {
    await open(sampleResult());
    await page.getByText('ours costs 11.8 % less than compatible').waitFor();
    expect(await page.locator('figure.plot').count()).toBe(8);
    expect({ complaints, requests }).toEqual({ complaints: [], requests: [] });
  });

  it.each(['light', 'dark'] as const)('has no accessibility violations, %s', async (scheme) => {
    await open(stoppedResult(), { scheme });
    for (const details of await page.locator('details summary').all()) await details.click();
    await page.locator('#rate .box').hover();
    expect(await axeViolations(page)).toEqual([]);
  });

  it('shows values under the pointer', async () => {
    await open(sampleResult());
    const box = await page.locator('#rate svg').boundingBox();
    await page.locator('#rate svg').hover({ position: { x: (box?.width ?? 0) / 2, y: 60 } });
    expect(await tip('rate').innerText()).toMatch(/^2026-03-05 \d\d:\d\d\s+compatible\s+\$[\d.]+\s+ours\s+\$[\d.]+$/);
    await page.locator('h1').hover();
    await tip('rate').waitFor({ state: 'hidden' });
    await page.locator('#waits svg').hover();
    expect(await tip('waits').innerText()).toMatch(/^at most [\d.]+ (?:s|min)\s+compatible\s+[\d.]+ %/);
  });

  it('shows values with the keyboard', async () => {
    await open(sampleResult());
    await page.locator('#nodes .box').focus();
    await page.keyboard.press('ArrowRight');
    expect(await tip('nodes').innerText()).toMatch(/^2026-03-02 00:00\s+compatible, on-demand/);
    await page.keyboard.press('Shift+ArrowRight');
    expect(await tip('nodes').innerText()).toMatch(/^2026-03-02 03:20/);
    await page.keyboard.press('End');
    expect(await tip('nodes').innerText()).toMatch(/^2026-03-08 23:40/);
    await page.keyboard.press('Escape');
    await tip('nodes').waitFor({ state: 'hidden' });
  });

  it.each([true, false])('shows the selected runs; scripts: %p', async (scripts) => {
    await open(sampleResult(), { scripts });
    expect(await linesShown()).toBe(2);
    await page.getByRole('checkbox', { name: 'compatible' }).uncheck();
    expect(await linesShown()).toBe(1);
    expect(await page.locator('#log tbody tr.run-0:visible').count()).toBe(0);
    expect(await page.locator('#log tbody tr.run-1:visible').count()).toBeGreaterThan(10);
    await page.getByRole('checkbox', { name: 'compatible' }).check();
    expect(await linesShown()).toBe(2);
  });

  it('searches the log, and shows more rows', async () => {
    await open(sampleResult());
    const rows = page.locator('#log tbody tr');
    expect(await rows.count()).toBe(50);
    await page.getByRole('button', { name: 'Show more' }).click();
    expect(await rows.count()).toBe(480);
    await page.getByRole('searchbox', { name: 'Search' }).fill('interrupted ours');
    expect(await rows.count()).toBe(5);
    expect(await page.locator('#found').innerText()).toBe('5 of 5 matching events, 480 in total.');
    await page.keyboard.press('Enter');
    expect(complaints).toEqual([]);
  });

  it('shows its content without scripts', async () => {
    await open(sampleResult(), { scripts: false });
    expect(await page.locator('#log tbody tr').count()).toBe(30);
    expect(await page.getByRole('button', { name: 'Show more' }).isVisible()).toBe(false);
    expect(await page.locator('#rate svg path.line').count()).toBe(2);
  });

  it('shows names as text, regardless of their content', async () => {
    const name = `</script><img src=x onerror="document.title='gone'">`;
    await open(sampleResult({ names: [name, 'ours'], days: 1 }));
    await page.locator('#rate svg').hover();
    expect(await tip('rate').innerText()).toContain(name);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).toBe('Replay of web-service');
    expect({ complaints, requests }).toEqual({ complaints: [], requests: [] });
  });

  it('is printed in light colours, without interactive elements', async () => {
    await open(sampleResult(), { scheme: 'dark' });
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    const colour = (selector: string, property: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}'))['${property}']`);
    expect(await colour('body', 'backgroundColor')).toBe('rgb(255, 255, 255)');
    expect(await colour('h1', 'color')).toBe('rgb(0, 0, 0)');
    for (const hidden of ['#search', '#more', '.legend input', 'details'])
      expect(await page.locator(hidden).first().isVisible()).toBe(false);
    expect(await page.locator('#rate svg').isVisible()).toBe(true);
    const pdf = await page.pdf({ format: 'A4', printBackground: true });
    expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
  });

  it.each([380, 800, 1400])('fits a window of %i pixels', async (width) => {
    await open(sampleResult({ names: ['a', 'b', 'a-name-that-goes-on-and-on-and-on', 'd', 'e', 'f'] }), { width });
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    expect(overflow).toBeLessThanOrEqual(0);
  });
});
