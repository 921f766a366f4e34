/** Leftovers of Karpenter versions before 1.1 in a cluster. */

import type { KubeObject } from '#api/objects';
import type { Finding } from '#cloud';
import { isNotFound } from '#kube/client';
import type { HttpKubeReader } from '#kube/connection';
import { problem, warning } from './finding.ts';

const COMPATIBILITY = /^compatibility\.karpenter\.(?:sh|k8s\.aws)\/v1beta1-/;

/** CRDs of Karpenter's alpha versions. */
const ALPHA = ['provisioners.karpenter.sh', 'machines.karpenter.sh', 'awsnodetemplates.karpenter.k8s.aws'];
const WEBHOOKS = new Set([
  'defaulting.webhook.karpenter.sh',
  'defaulting.webhook.karpenter.k8s.aws',
  'validation.webhook.karpenter.sh',
  'validation.webhook.config.karpenter.sh',
  'validation.webhook.karpenter.k8s.aws',
]);

/** Returns true if the webhook configuration belongs to a version before 1.1. */
export const isOldWebhook = (name: string): boolean => WEBHOOKS.has(name);

/** The part of a CRD that defines the storage and conversion of its objects. */
export interface StoredDefinition {
  readonly spec: { readonly conversion?: { readonly strategy?: string } };
  readonly status?: { readonly storedVersions?: readonly string[] };
}

/** @param version the version that this CRD serves */
export function storage(subject: string, { spec, status }: StoredDefinition, version: string): readonly Finding[] {
  const findings: Finding[] = [];
  if (spec.conversion?.strategy === 'Webhook')
    findings.push(
      problem(
        subject,
        'its objects are converted by a webhook that is not served any more, so every read of them fails',
        'finish the upgrade to Karpenter 1.1 or later, or install charts/karpenter-crd, whose CRDs have no conversion',
      ),
    );
  const others = (status?.storedVersions ?? []).filter((stored) => stored !== version);
  if (others.length > 0)
    findings.push(
      problem(
        subject,
        `objects may be stored as ${others.join(', ')}, which its next version cannot read`,
        `write the objects again, then set status.storedVersions of the CRD to ["${version}"]`,
      ),
    );
  return findings;
}

/**
 * Reports annotations of the conversion from v1beta1.
 * @param isRead true if Karpenter 1.0 runs, the last version that reads these annotations
 */
export function leftovers(objects: readonly KubeObject[], isRead = false): readonly Finding[] {
  return objects.flatMap(({ kind, metadata: { name, annotations = {} } }) =>
    Object.keys(annotations)
      .filter((key) => COMPATIBILITY.test(key))
      .map((key) =>
        warning(
          `${kind} ${name}`,
          `has the annotation ${key} of the conversion from v1beta1, which ${isRead ? 'only 1.0 uses' : 'is not used'}`,
          key.endsWith('kubelet-conversion')
            ? 'move its settings to spec.kubelet of the EC2NodeClass, then remove it'
            : 'remove it',
        ),
      ),
  );
}

/** Reports CRDs and webhooks of earlier versions that are still installed. */
export async function findEarlierVersions(client: Pick<HttpKubeReader, 'raw'>): Promise<readonly Finding[]> {
  const crds = await Promise.all(
    ALPHA.map(async (name): Promise<readonly Finding[]> => {
      const found = await exists(client, `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`);
      if (!found) return [];
      const fix =
        'delete its objects when their nodes are gone, then the CRD; deleting the CRD first terminates the nodes immediately';
      return [warning(`CRD ${name}`, 'belongs to an alpha version, which no controller supports', fix)];
    }),
  );
  const webhooks = await Promise.all(['mutating', 'validating'].map((kind) => webhooksOf(client, kind)));
  return [...crds, ...webhooks].flat();
}

async function exists(client: Pick<HttpKubeReader, 'raw'>, path: string): Promise<boolean> {
  try {
    await client.raw(path);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

async function webhooksOf(client: Pick<HttpKubeReader, 'raw'>, kind: string): Promise<readonly Finding[]> {
  const path = `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`;
  const { items } = (await client.raw(path).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return { items: [] };
  })) as { readonly items: readonly KubeObject[] };
  return items
    .filter(({ metadata }) => isOldWebhook(metadata.name))
    .map(({ metadata: { name } }) =>
      problem(
        `webhook ${name}`,
        'belongs to a version before 1.1 and is not served any more, so writes of NodePools and EC2NodeClasses may be rejected',
        `kubectl delete ${kind}webhookconfiguration ${name}`,
      ),
    );
}
