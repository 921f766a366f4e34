/** Keeps what is remembered of spot pools over restarts. */
import { ConfigMapDocument } from '../../kube/config-map-document.ts';
import { DocumentKeeper } from '../../kube/document-keeper.ts';
import type { AwsOptions } from '../options.ts';
import { SPOT_RISK_NAME, type SpotRisk } from './spot-risk.ts';

/** Nobody where nothing is remembered, or no namespace is known. */
export function spotRiskKeeper(
  { client, log, namespace }: Pick<AwsOptions, 'client' | 'log' | 'namespace'>,
  risk: SpotRisk,
): DocumentKeeper | undefined {
  if (!risk.isOn || !namespace) return undefined;
  const document = new ConfigMapDocument({ client, log, namespace, name: SPOT_RISK_NAME });
  return new DocumentKeeper('spotrisk.memory', risk, document);
}
