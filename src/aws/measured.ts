/** Measures the provider's methods and counts their errors. */

import type { NodePool } from '../api/nodepool.ts';
import { causeOf, InsufficientCapacity, NodeClaimNotFound, NodeClassNotReady } from '../cloud/errors.ts';
import type { CloudProvider } from '../cloud/provider.ts';
import { NO_CHARGES } from '../engine/node-extras.ts';
import { defined } from '../lib/defined.ts';
import { currentController } from '../observe/controller.ts';
import type { AwsMetrics } from './metrics.ts';

function kindOf(error: unknown): string {
  if (causeOf(error, NodeClaimNotFound)) return 'NodeClaimNotFoundError';
  if (causeOf(error, NodeClassNotReady)) return 'NodeClassNotReadyError';
  return causeOf(error, InsufficientCapacity) ? 'InsufficientCapacityError' : '';
}

export function measuredProvider(provider: CloudProvider, metrics: AwsMetrics): CloudProvider {
  const time =
    <A extends readonly unknown[], R>(method: string, call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      const labels = { controller: currentController(), method, provider: provider.name };
      const stop = metrics.methodSeconds.startTimer(labels);
      try {
        return await call(...args);
      } catch (error) {
        metrics.methodErrors.inc({ ...labels, error: kindOf(error) });
        throw error;
      } finally {
        stop();
      }
    };
  return {
    name: provider.name,
    nodeClassKinds: provider.nodeClassKinds,
    repairPolicies: provider.repairPolicies,
    ...defined({ registrationHooks: provider.registrationHooks }),
    commitments: () => provider.commitments?.() ?? [],
    ...(provider.charges && { charges: (nodePool: NodePool) => provider.charges?.(nodePool) ?? NO_CHARGES }),
    deviceTemplates: (nodePool, type) => provider.deviceTemplates?.(nodePool, type) ?? [],
    instanceTypes: time('GetInstanceTypes', (nodePool) => provider.instanceTypes(nodePool)),
    launchAnswer: (claim) => provider.launchAnswer?.(claim),
    create: time('Create', (claim, adjust) => provider.create(claim, adjust)),
    delete: time('Delete', (claim) => provider.delete(claim)),
    get: time('Get', (providerId) => provider.get(providerId)),
    list: time('List', () => provider.list()),
    isDrifted: time('IsDrifted', (claim) => provider.isDrifted(claim)),
  };
}
