/** Accessibility problems of a page, as reported by axe. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Returns a line for each violated rule, with the elements. */
export async function axeViolations(page: Page): Promise<readonly string[]> {
  // injected like a debugger's code, because the page's own policy forbids scripts
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { axe, document } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
      document: {
        getAnimations(): { effect: { getComputedTiming(): { endTime: number } }; finished: Promise<void> }[];
      };
    };
    // colors are faint while a node appears or disappears
    const ending = document.getAnimations().filter(({ effect }) => Number.isFinite(effect.getComputedTiming().endTime));
    await Promise.allSettled(ending.map(({ finished }) => finished));
    const { violations: found } = await axe.run();
    return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
  });
}
