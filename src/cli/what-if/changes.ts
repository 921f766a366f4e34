/** Parses the values of `--what-if`: files with manifests, and changes in words. */
import { existsSync } from 'node:fs';
import { CHANGE_FORMS, CHANGE_VERBS, parseChange } from '../../engine/what-if/change.ts';
import { InputError } from '../objects/errors.ts';
import { applyManifests, type Manifest, readManifests } from '../objects/read.ts';
import { drainNode } from './drain.ts';
import { changeNodePool } from './node-pool.ts';
import { priceChangeOf } from './prices.ts';
import { scaleWorkload } from './scale.ts';

/** Changes as shown in the help. */
export const CHANGES =
  '"scale deploy/web=50", "drain NODE", "limit NODEPOOL cpu=100", "require NODEPOOL KEY=VALUES" or "spot+30%"';

/** @throws InputError if a change cannot be made */
type Change = (manifests: readonly Manifest[], nowMs: number) => readonly Manifest[];

/**
 * Returns undefined for a file or a change of prices, which do not change objects.
 *
 * @throws InputError if a change is incomplete
 */
function changeOf(text: string): Change | undefined {
  const where = `--what-if "${text}"`;
  const change = parseChange(text);
  if (change?.verb === 'drain') return (manifests, nowMs) => drainNode(manifests, { node: change.node, nowMs, where });
  if (change?.verb === 'scale') return (manifests) => scaleWorkload(manifests, { ...change, where });
  if (change !== undefined) return (manifests) => changeNodePool(manifests, { ...change, where });
  if (CHANGE_VERBS.some((verb) => text === verb || text.startsWith(`${verb} `)))
    throw new InputError(where, `expected ${CHANGE_FORMS}`);
  return undefined;
}

/**
 * Returns the objects of a cluster after the changes, which are applied in order.
 *
 * @throws InputError with the change, or with the document and the field
 */
export function applyChanges(
  manifests: readonly Manifest[],
  whatIf: readonly string[],
  nowMs: number,
): { readonly manifests: readonly Manifest[]; readonly added: readonly Manifest[] } {
  // files are applied first, because all files are one set of manifests, as with -f
  const files = whatIf.filter((text) => changeOf(text) === undefined && priceChangeOf(text) === undefined);
  for (const file of files)
    if (file !== '-' && !existsSync(file))
      throw new InputError(file, `not a file, a folder or a change; changes are, for example, ${CHANGES}`);
  const added = readManifests(files);
  const changes = whatIf.flatMap((text) => changeOf(text) ?? []);
  return {
    added,
    manifests: changes.reduce((before, change) => change(before, nowMs), applyManifests(manifests, added)),
  };
}
