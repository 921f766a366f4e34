/** Computes the extra costs of nodes besides their instances, from settings, annotations and the cloud. */

import { nodeHourlyFee } from '../api/node-hourly-fee.ts';
import type { NodePool } from '../api/nodepool.ts';
import type { PackingPolicy } from '../api/policy.ts';
import type { CloudProvider } from '../cloud/provider.ts';
import type { PoolInput } from '../engine/model.ts';
import { NO_CHARGES } from '../engine/node-extras.ts';
import type { Logger } from '../observe/logger.ts';
import type { Settings } from '../process/settings.ts';

interface Parts {
  readonly cloud: Pick<CloudProvider, 'charges'>;
  readonly settings: Pick<Settings, 'nodeHourlyFee'>;
  readonly log: Logger;
}

/**
 * Returns the extra costs of nodes. Reports always include the charges. Decisions include them only with a fee, which is 0 if
 * the policy expects no such costs. Logs and ignores a fee that cannot be parsed, and charges that cannot be computed.
 */
export function nodeExtras(
  { cloud, settings, log }: Parts,
  nodePool: NodePool,
  policy: Pick<PackingPolicy, 'expectsCosts'>,
): Required<Pick<PoolInput, 'extras'>> {
  const NodePool = { name: nodePool.metadata.name };
  const feeUsdPerHour = policy.expectsCosts
    ? nodeHourlyFee(nodePool, settings.nodeHourlyFee, (error) =>
        log.error('ignoring the node fee of the nodepool', { NodePool, error }),
      )
    : 0;
  try {
    return { extras: { feeUsdPerHour, ...(cloud.charges?.(nodePool) ?? NO_CHARGES) } };
  } catch (error) {
    log.debug('charges of nodes are unknown', { NodePool, error });
    return { extras: { feeUsdPerHour, ...NO_CHARGES } };
  }
}
