/**
 * Cluster of docs/questions.md, in virtual time. Every run of the scene has the same result: a cluster with pending pods, a node
 * that does not join, sold-out offerings, and nodes that were removed or cannot be removed.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import {
  apiVersionOf,
  DAEMON_SET,
  EC2_NODE_CLASS,
  type Kind,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  POD,
  POD_DISRUPTION_BUDGET,
} from '#api/objects';
import { own } from '#lib';
import type { Look } from '#process/server';
import { CLUSTER, fitToAccount, openWorld, play, VirtualClock } from '#replay/testing';
import type { TraceEvent } from '#replay/trace';
import { DEFAULT_WORLD } from '#replay/world-model';

const START_MS = Date.parse('2026-06-03T09:00:00Z');
const MINUTE_MS = 60_000;
const FILE = join(import.meta.dirname, 'cluster.yaml');

/** Machines and prices without chance. */
const WORLD = {
  ...DEFAULT_WORLD,
  spot: { ...DEFAULT_WORLD.spot, volatility: 0, interruptionsPerDay: 0 },
  soldOut: { spot: 0, onDemand: 0, hours: 1 },
};

/** Kinds that the offline commands need. */
const KINDS: readonly Kind[] = [NODE_POOL, EC2_NODE_CLASS, NODE_CLAIM, NODE, POD, POD_DISRUPTION_BUDGET, DAEMON_SET];

export interface Scene {
  /** Address of the operator's views. */
  readonly url: string;
  /** Time of the scene, in RFC 3339 format. */
  readonly now: string;
  /** Objects of the cluster. */
  readonly objects: readonly KubeObject[];
  close(): void;
}

const DEPLOYMENT_REF = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop' };

/** Returns the objects of a step. The first step has the EC2NodeClass and the NodePools. */
export const objectsOf = (label: string): readonly KubeObject[] =>
  parseAllDocuments(readFileSync(FILE, 'utf8'))
    .map((document) => document.toJS() as KubeObject)
    .filter(({ metadata }) => (metadata.annotations?.['example.com/applied'] ?? 'first') === label);

/** Plays the scene, and serves the views of its operator until `close`. */
export async function playScene(): Promise<Scene> {
  const clock = new VirtualClock(START_MS);
  const life = new AbortController();
  const { client, aws, operator } = await openWorld({
    model: WORLD,
    clock,
    startMs: START_MS,
    stepSeconds: 60,
    args: [],
    signal: life.signal,
  });
  const pass = (minutes: number): Promise<void> => clock.runUntil(clock.now() + minutes * MINUTE_MS);
  const apply = async (objects: readonly KubeObject[]): Promise<void> => {
    for (const object of objects) await play(client, { at: 0, apply: fitToAccount(object, CLUSTER) } as TraceEvent);
  };
  const scale = (name: string, replicas: number): Promise<void> =>
    play(client, { at: 0, scale: { ...DEPLOYMENT_REF, name }, replicas });
  await apply(objectsOf('first'));
  aws.faults.add({ kind: 'capacity', instanceType: 'c7g.*', capacityType: 'spot' });
  await pass(1);
  await apply(objectsOf('workload'));
  await pass(4);
  await scale('search', 1);
  await pass(3);
  aws.faults.add({ kind: 'never-joins' });
  aws.faults.add({ kind: 'capacity', instanceType: 'c7i-flex.*', capacityType: 'spot' });
  await apply(objectsOf('late'));
  await pass(2.5);
  const { informers } = operator.deps;
  const objects = KINDS.flatMap((kind) =>
    informers
      .store(kind)
      .list()
      .map((object): KubeObject => ({ ...object, apiVersion: apiVersionOf(kind), kind: kind.kind })),
  );
  const server = createServer((request, response) => {
    // On a busy machine, the server would close an idle connection while the next request is sent on it.
    response.setHeader('connection', 'close');
    void answer(operator.views, request.url ?? '').then((body) => response.end(JSON.stringify(body)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    now: new Date(clock.now()).toISOString(),
    objects,
    close: () => {
      server.closeAllConnections();
      server.close();
      life.abort();
    },
  };
}

async function answer(views: Readonly<Record<string, Look>>, path: string): Promise<unknown> {
  const { pathname, searchParams } = new URL(path, 'http://operator');
  const view = own(views, pathname);
  const found = typeof view === 'object' ? await view.page(searchParams) : await view?.();
  return typeof found === 'object' && found !== null && Symbol.iterator in found
    ? [...(found as Iterable<unknown>)]
    : found;
}
