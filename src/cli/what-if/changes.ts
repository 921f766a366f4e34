/** What `--what-if` says: files with manifests, and changes in words. */
import { existsSync } from 'node:fs';
import { InputError } from '../objects/errors.ts';
import { applied, type Manifest, readManifests } from '../objects/read.ts';
import { drained } from './drain.ts';
import { priceChangeOf } from './prices.ts';
import { scaled } from './scale.ts';

/** As the help spells them. */
export const CHANGES = '"scale deploy/web=50", "drain NODE" or "spot+30%"';

/** @throws InputError when a change cannot be made */
type Change = (manifests: readonly Manifest[], nowMs: number) => readonly Manifest[];

const SCALE = /^scale\s+(?:(?<namespace>[^/\s]+)\/)?(?<kind>[^/\s]+)\/(?<name>[^/\s=]+)=(?<replicas>\d{1,6})$/;
const DRAIN = /^drain\s+(?<node>\S+)$/;

/** Undefined for what is no change of objects: a file, or a change of prices. @throws InputError for half a change */
function changeOf(text: string): Change | undefined {
  const where = `--what-if "${text}"`;
  const node = DRAIN.exec(text)?.groups?.node;
  if (node !== undefined) return (manifests, nowMs) => drained(manifests, { node, nowMs, where });
  const { namespace = 'default', kind = '', name = '', replicas = '' } = SCALE.exec(text)?.groups ?? {};
  if (name !== '')
    return (manifests) => scaled(manifests, { namespace, kind, name, replicas: Number(replicas), where });
  if (/^(?:scale|drain)(?:\s|$)/.test(text))
    throw new InputError(where, 'expected "scale [NAMESPACE/]KIND/NAME=REPLICAS" or "drain NODE"');
  return undefined;
}

/**
 * What a cluster would hold with these changes made to it, one after the other.
 * @throws InputError that names the change, or the document and the field
 */
export function changed(
  manifests: readonly Manifest[],
  whatIf: readonly string[],
  nowMs: number,
): { readonly manifests: readonly Manifest[]; readonly added: readonly Manifest[] } {
  // all files first: they are one set of manifests, as -f is
  const files = whatIf.filter((text) => changeOf(text) === undefined && priceChangeOf(text) === undefined);
  for (const file of files)
    if (file !== '-' && !existsSync(file))
      throw new InputError(file, `no such file or folder, and no change such as ${CHANGES}`);
  const added = readManifests(files);
  const changes = whatIf.flatMap((text) => changeOf(text) ?? []);
  return { added, manifests: changes.reduce((before, change) => change(before, nowMs), applied(manifests, added)) };
}
