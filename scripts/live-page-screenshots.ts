/**
 * `npm run screenshots` creates the images of the live page and of `karpenter top` for docs/images. They show the local world
 * with some nodes, pods that cannot be scheduled and an interruption. The script needs Chromium (see test/browser/chromium.ts).
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { parseAllDocuments } from 'yaml';
import { DEPLOYMENT, EC2_NODE_CLASS, type Kind, type KubeObject, NODE_POOL } from '#api/objects';
import { freePort, machinesAt, superviseOperator } from '#cli/testing';
import { startWorld, type World } from '#local/world';
import { startChromium } from '../test/browser/chromium.ts';
import { deployment } from '../test/operator/harness.ts';
import { terminalHtml, terminalLines } from './terminal-view.ts';

const ROOT = join(import.meta.dirname, '..');
const SIZE = { width: 1400, height: 900 };
const PHONE = { width: 390, height: 844 };

interface Picture {
  readonly name: string;
  /** Address of the view. */
  readonly address: string;
  /** Element that the view has when it is complete. */
  readonly waitFor: string;
  readonly colorScheme?: 'light' | 'dark';
  readonly viewport?: { readonly width: number; readonly height: number };
}

const PICTURES: readonly Picture[] = [
  { name: 'light', address: '', waitFor: '#pools tbody tr' },
  { name: 'dark', address: '', waitFor: '#pools tbody tr', colorScheme: 'dark' },
  { name: 'phone', address: '', waitFor: '#pools tbody tr', viewport: PHONE },
  { name: 'timeline', address: '#/timeline/1', waitFor: '.lives li' },
  { name: 'log', address: '#/log/1', waitFor: '#details tbody tr' },
  { name: 'nodepool', address: '#/nodepool/default', waitFor: '.usage' },
  { name: 'what-if', address: `#/what-if/${encodeURIComponent('scale deploy/web=60')}`, waitFor: '#answer' },
];

/** Factor by which instances of the local world join faster. */
const MACHINE_SPEED = 5;
/** Wait for cost samples and for the disruption verdicts of new nodes. */
const SETTLE_MS = 100_000;

async function applyExamples({ kube }: World): Promise<void> {
  const kinds: readonly Kind[] = [EC2_NODE_CLASS, NODE_POOL];
  for (const file of ['ec2nodeclass.yaml', 'nodepool.yaml'])
    for (const document of parseAllDocuments(await readFile(join(ROOT, 'examples', file), 'utf8'))) {
      const object = document.toJS() as KubeObject;
      const kind = kinds.find((each) => each.kind === object.kind);
      if (kind !== undefined) await kube.client.create(kind, object);
    }
}

async function untilNodes({ kube }: World, count: number): Promise<void> {
  for (;;) {
    if (kube.server.objects.list({ apiVersion: 'v1', kind: 'Node' }).length >= count) return;
    await pause(500);
  }
}

const picture = (page: Page, name: string): Promise<unknown> =>
  page.screenshot({ path: join(ROOT, 'docs/images', `live-page-${name}.png`) });

const folder = await mkdtemp(join(tmpdir(), 'karpenter-screenshots-'));
const world = await startWorld(machinesAt(MACHINE_SPEED));
const [host, metricsPort] = [`127.0.0.1:${await freePort()}`, await freePort()];
const ports = { METRICS_PORT: String(metricsPort), HEALTH_PROBE_PORT: '0', LIVE_PAGE: host };
const operator = superviseOperator({
  env: { ...world.env(), ...ports },
  logFile: join(folder, 'operator.log'),
});
const browser = await startChromium();
try {
  await applyExamples(world);
  await world.kube.client.create(DEPLOYMENT, deployment('web', 30, {}, { cpu: '1', memory: '2Gi' }));
  await world.kube.client.create(DEPLOYMENT, deployment('cache', 6, {}, { cpu: '500m', memory: '6Gi' }));
  await world.kube.client.create(DEPLOYMENT, deployment('legacy', 2, { nodeSelector: { 'example.com/rack': 'b7' } }));
  await untilNodes(world, 5);
  await pause(SETTLE_MS);
  const spot = world.aws.instances
    .list()
    .find(({ capacityType, state }) => capacityType === 'spot' && state === 'running');
  if (spot !== undefined) world.aws.faults.interrupt(spot.id);
  await pause(SETTLE_MS / 4);
  for (const { name, address, waitFor, colorScheme = 'light', viewport = SIZE } of PICTURES) {
    const page = await browser.newPage({ colorScheme, viewport });
    await page.goto(`http://${host}/${address}`, { waitUntil: 'domcontentloaded' });
    await page.locator(waitFor).first().waitFor();
    await pause(1_500);
    await picture(page, name);
    await page.close();
  }
  const page = await browser.newPage({ colorScheme: 'light', viewport: SIZE });
  await page.goto(`http://${host}/`, { waitUntil: 'domcontentloaded' });
  await page.locator('tbody th a').first().click();
  await page.getByRole('heading', { name: /^Node / }).waitFor();
  await picture(page, 'node');
  await page.close();
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, world.kube.kubeconfig());
  const lines = await terminalLines({
    kubeconfig,
    server: `http://127.0.0.1:${metricsPort}`,
    settleMs: SETTLE_MS / 20,
  });
  for (const colorScheme of ['light', 'dark'] as const) {
    const view = await browser.newPage({ colorScheme, deviceScaleFactor: 1.5 });
    await view.setContent(terminalHtml(lines, colorScheme));
    await view.locator('pre').screenshot({ path: join(ROOT, 'docs/images', `top-${colorScheme}.png`) });
    await view.close();
  }
  process.stdout.write(`wrote docs/images/live-page-*.png and top-{light,dark}.png\n`);
} finally {
  await browser.close();
  await operator.stop();
  await world.stop();
  await rm(folder, { recursive: true, force: true });
}
process.exit();
