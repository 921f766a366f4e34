/** Architectures of the images that EC2NodeClasses of manifests select, as far as their terms state them. */
import { ARCH_LABEL, type EC2NodeClass, type NodePool, normalizeLabel } from '#api/objects';
import { isFromCluster, type Manifest } from './read.ts';

type Architecture = 'amd64' | 'arm64';

/** Spellings in names of images and parameters. */
const SPELLINGS: readonly (readonly [Architecture, RegExp])[] = [
  ['amd64', /(?:^|[^a-z0-9])(?:amd64|x86[_-]64|x64)(?:[^a-z0-9]|$)/i],
  ['arm64', /(?:^|[^a-z0-9])(?:arm[_-]?64|aarch64|graviton\d*)(?:[^a-z0-9]|$)/i],
];

/**
 * Returns the architectures of the images, `unknown` if a term does not state one, or undefined if there are images of both.
 * The operator decides with the images of a status.
 */
export function imageArchitectures({ spec, status }: EC2NodeClass): ReadonlySet<string> | 'unknown' | undefined {
  const terms = spec?.amiSelectorTerms ?? [];
  if (status?.amis !== undefined || terms.length === 0 || terms.some(({ alias }) => alias !== undefined))
    return undefined;
  const found = new Set<string>();
  for (const { name = '', ssmParameter = '', tags = {} } of terms) {
    const text = [name, ssmParameter, ...Object.values(tags)].join(' ');
    const own = SPELLINGS.filter(([, spelling]) => spelling.test(text)).map(([architecture]) => architecture);
    if (own.length === 0) return 'unknown';
    for (const architecture of own) found.add(architecture);
  }
  return found.size === SPELLINGS.length ? undefined : found;
}

interface ImageFacts {
  readonly notes: readonly string[];
  readonly unknown: readonly string[];
}

/** Returns notes on EC2NodeClasses whose images restrict instance types, and on images of unknown architecture. */
export function imageFacts(manifests: readonly Manifest[]): ImageFacts {
  const open = new Set(
    manifests
      .filter(({ object }) => object.kind === 'NodePool' && !fixesArchitecture(object as NodePool))
      .map(({ object }) => (object as Partial<NodePool>).spec?.template?.spec?.nodeClassRef?.name),
  );
  const notes: string[] = [];
  const unknown: string[] = [];
  for (const manifest of manifests) {
    const { kind, metadata } = manifest.object;
    if (kind !== 'EC2NodeClass' || isFromCluster(manifest) || !open.has(metadata.name)) continue;
    const found = imageArchitectures(manifest.object as EC2NodeClass);
    if (found === 'unknown')
      unknown.push(
        `EC2NodeClass ${metadata.name}: the architecture of the images that spec.amiSelectorTerms select; instance types of ` +
          `both architectures count, so add a requirement on ${ARCH_LABEL} to the NodePool`,
      );
    else if (found !== undefined)
      notes.push(
        `EC2NodeClass ${metadata.name}: spec.amiSelectorTerms select images for ${[...found].join()}, so only instance types ` +
          'of this architecture count',
      );
  }
  return { notes, unknown };
}

const fixesArchitecture = ({ spec }: Partial<NodePool>): boolean =>
  (spec?.template?.spec?.requirements ?? []).some(
    ({ key, operator, values = [] }) => normalizeLabel(key) === ARCH_LABEL && operator === 'In' && values.length === 1,
  );
