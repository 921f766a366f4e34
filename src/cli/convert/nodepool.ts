/** Converts a NodePool of karpenter.sh/v1beta1 to v1, and removes leftovers of conversion webhooks from v1 objects. */
import { Pair } from 'yaml';
import { messageOf } from '../../lib/error-message.ts';
import { parseJson } from '../../lib/parse-json.ts';
import type { ObjectEdit } from './edit.ts';
import { cleanMetadata, renameAnnotations } from './metadata.ts';
import { nodeOf } from './nodes.ts';
import type { Path } from './notes.ts';
import {
  cleanPoolLabels,
  cleanRequirements,
  cleanTaints,
  convertClassRef,
  TEMPLATE,
  TEMPLATE_SPEC,
} from './pool-template.ts';
import type { PoolOptions, PoolParts } from './provisioner.ts';
import { COMPATIBILITY, V1 } from './renames.ts';

/** Default expiry of v1beta1. */
export const BETA_EXPIRY = '720h';

/** @throws InputError with the field that cannot be converted */
export function convertBetaNodePool(edit: ObjectEdit, { isPatch }: PoolOptions): PoolParts {
  edit.set(['apiVersion'], V1);
  cleanMetadata(edit);
  if (!isPatch && !edit.has(TEMPLATE_SPEC)) edit.fail(TEMPLATE_SPEC, 'is required');
  edit.dropNulls(['spec']);
  const labels = [...TEMPLATE, 'metadata', 'labels'];
  cleanPoolLabels(edit, labels);
  renameAnnotations(edit, [...TEMPLATE, 'metadata', 'annotations']);
  const parts = convertBetaSpec(edit, TEMPLATE_SPEC, isPatch);
  cleanRequirements(edit, [...TEMPLATE_SPEC, 'requirements'], [...TEMPLATE_SPEC, 'requirements']);
  if (edit.has([...TEMPLATE_SPEC, 'resources'])) {
    edit.remove([...TEMPLATE_SPEC, 'resources']);
    edit.note('lost', [...TEMPLATE_SPEC, 'resources'], 'exists only in NodeClaims', TEMPLATE_SPEC);
  }
  convertDisruption(edit, isPatch);
  return parts;
}

/**
 * Converts the part of the spec that templates and NodeClaims share.
 *
 * @returns the kubelet block, which is removed from the object
 */
export function convertBetaSpec(edit: ObjectEdit, path: Path, isPatch: boolean): PoolParts {
  const reference = [...path, 'nodeClassRef'];
  if (edit.map(reference) !== undefined) convertClassRef(edit, reference);
  else if (!isPatch) edit.fail(reference, 'is required; set the name of the EC2NodeClass');
  if (!isPatch && !edit.has([...path, 'requirements'])) edit.set([...path, 'requirements'], []);
  for (const field of ['taints', 'startupTaints']) cleanTaints(edit, [...path, field], [...path, field]);
  const kubelet = edit.map([...path, 'kubelet']) && edit.remove([...path, 'kubelet']);
  return kubelet === undefined ? {} : { kubelet };
}

function convertDisruption(edit: ObjectEdit, isPatch: boolean): void {
  const disruption: Path = ['spec', 'disruption'];
  const expireAfter = [...TEMPLATE_SPEC, 'expireAfter'];
  const policy = edit.text([...disruption, 'consolidationPolicy']);
  if (policy === 'WhenUnderutilized')
    edit.replaceValue([...disruption, 'consolidationPolicy'], 'WhenEmptyOrUnderutilized');
  if (edit.has([...disruption, 'expireAfter'])) edit.move([...disruption, 'expireAfter'], expireAfter);
  else if (!isPatch && !edit.has(expireAfter)) edit.set(expireAfter, BETA_EXPIRY);
  if (isPatch) {
    edit.removeEmpty(disruption);
    return;
  }
  if (policy === undefined) edit.set([...disruption, 'consolidationPolicy'], 'WhenEmptyOrUnderutilized');
  if (edit.has([...disruption, 'consolidateAfter'])) return;
  const isEmptyOnly = policy === 'WhenEmpty';
  edit.set([...disruption, 'consolidateAfter'], isEmptyOnly ? 'Never' : '0s');
  if (isEmptyOnly)
    edit.note('assumed', [...disruption, 'consolidateAfter'], 'without this field, v1beta1 did not remove empty nodes');
}

const ANNOTATIONS: Path = ['metadata', 'annotations'];

/** Removes the kubelet block that a conversion webhook put into an annotation, and returns it. */
export function convertedKubelet(edit: ObjectEdit): PoolParts {
  const path = [...ANNOTATIONS, COMPATIBILITY.kubelet];
  const text = edit.text(path);
  edit.remove(path);
  edit.remove([...ANNOTATIONS, COMPATIBILITY.nodeClass]);
  edit.removeEmpty(ANNOTATIONS);
  if (text === undefined) return {};
  const block = jsonAt(edit, path, text);
  if (typeof block !== 'object' || block === null || Array.isArray(block))
    return edit.fail(path, 'must be a kubelet block in JSON');
  edit.note('changed', path, 'Karpenter 1.1 and later ignore it; the block is now in the EC2NodeClass', ['spec']);
  return { kubelet: new Pair(nodeOf('kubelet'), nodeOf(block)) };
}

function jsonAt(edit: ObjectEdit, path: Path, text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    return edit.fail(path, messageOf(error));
  }
}

/** Returns true if a v1 object has annotations of a conversion webhook. */
export const hasLeftovers = (edit: ObjectEdit): boolean =>
  Object.values(COMPATIBILITY).some((name) => edit.has([...ANNOTATIONS, name]));
