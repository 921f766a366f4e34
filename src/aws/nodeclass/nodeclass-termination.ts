/** Deletes the AWS resources of a deleted NodeClass when no NodeClaim uses it. */
import { EC2_NODE_CLASS, EC2_NODECLASS_FINALIZER, type EC2NodeClass, uidOf } from '#api/objects';
import { type Informers, type KubeClient, writeChanges } from '#kube/client';
import { after, type EventRecorder, type Outcome, settled } from '#kube/reconcilers';
import { eventOf } from '#observe/events';
import { WAITING_ON_NODECLAIM_TERMINATION } from '../events.ts';
import type { InstanceProfiles } from '../instanceprofiles/instanceprofiles.ts';
import { classPath, isValidProfileName, profileName, type Scope } from '../instanceprofiles/names.ts';
import type { LaunchTemplates } from '../launchtemplates/launchtemplates.ts';
import { claimsOf } from './hash.ts';

/** Fallback period, because the deletion of a NodeClaim also triggers a reconciliation. */
const WAIT_MS = 10 * 60_000;
const LISTED_NAMES = 5;

interface TerminationOptions {
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly events: EventRecorder;
  readonly profiles: InstanceProfiles;
  readonly templates: LaunchTemplates;
  readonly scope: Scope;
  /** If true, profiles are not deleted, because IAM has no VPC endpoint. */
  readonly isolatedVpc: boolean;
  /** Called when the finalizer of the NodeClass has been removed. */
  readonly forget: (nodeClass: EC2NodeClass) => void;
}

export async function terminate(nodeClass: EC2NodeClass, options: TerminationOptions): Promise<Outcome> {
  const { client, informers, events, profiles, templates, scope, isolatedVpc, forget } = options;
  const finalizers = nodeClass.metadata.finalizers ?? [];
  if (!finalizers.includes(EC2_NODECLASS_FINALIZER)) return settled;

  const names = claimsOf(informers, nodeClass).map((claim) => claim.metadata.name);
  if (names.length > 0) {
    const more = names.length - LISTED_NAMES;
    const listed = names.slice(0, LISTED_NAMES).join(', ');
    const message = WAITING_ON_NODECLAIM_TERMINATION.message(more > 0 ? `${listed} and ${more} other(s)` : listed);
    const dedupe = [nodeClass.metadata.uid ?? nodeClass.metadata.name];
    events.publish(eventOf(WAITING_ON_NODECLAIM_TERMINATION, nodeClass, { message, dedupe }));
    return after(WAIT_MS);
  }
  if (!isolatedVpc) {
    for (const { name } of await profiles.list(classPath(scope, uidOf(nodeClass)))) await profiles.delete(name);
    const legacy = profileName(scope, nodeClass.metadata.name);
    if (isValidProfileName(legacy)) await profiles.delete(legacy);
  }
  await templates.deleteAll(nodeClass);
  const left = finalizers.filter((finalizer) => finalizer !== EC2_NODECLASS_FINALIZER);
  const released = { ...nodeClass, metadata: { ...nodeClass.metadata, finalizers: left } };
  await writeChanges(client, EC2_NODE_CLASS, { before: nodeClass, after: released }, { part: 'object', lock: true });
  forget(nodeClass);
  return settled;
}
