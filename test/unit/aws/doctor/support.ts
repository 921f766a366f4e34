/** The doctor on a local world. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Finding } from '#cloud';
import { startWorld, type World } from '#local/world';
import { examine } from '../../../../src/aws/doctor/doctor.ts';
import { catalogueOf } from '../../../support/catalogue.ts';

export const CLUSTER = 'test';

export interface Examined {
  readonly world: World;
  /** Returns the findings about a subject. */
  findings(subject: string): Promise<readonly Finding[]>;
  stop(): Promise<void>;
}

export async function examinedWorld(): Promise<Examined> {
  const world = await startWorld({ clusterName: CLUSTER, aws: { catalogue: catalogueOf(/^(m5|m6g|t3)\./) } });
  Object.assign(process.env, world.aws.env());
  const folder = mkdtempSync(join(tmpdir(), 'doctor-'));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, world.kube.kubeconfig());
  return {
    world,
    async findings(subject) {
      const options = { clusterName: CLUSTER, interruptionQueue: CLUSTER, kubeconfig, version: '0.1.0' };
      return (await examine(options)).filter((finding) => finding.subject === subject);
    },
    async stop() {
      rmSync(folder, { recursive: true });
      await world.stop();
    },
  };
}
