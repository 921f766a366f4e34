/**
 * User data of AL2023: a NodeConfig for nodeadm, after the custom documents. The last NodeConfig takes precedence on
 * the node.
 */
import { LRUCache } from 'lru-cache';
import { Document, isMap, isScalar, parseAllDocuments, parseDocument, type Scalar, visit } from 'yaml';
import { NodeClassNotReady } from '#cloud';
import { messageOf } from '#lib';
import { type Bootstrap, InvalidUserData } from './input.ts';
import { labelArgument } from './kubeletargs.ts';
import { contentType, isMime, type MimePart, parseMime, writeMime } from './mime.ts';

const NODE_CONFIG = 'application/node.eks.aws';
const SHELL_SCRIPT = 'text/x-shellscript; charset="us-ascii"';

const part = (type: string, content: string): MimePart => ({ headers: { 'Content-Type': type }, content });

/** Results for short texts. Most texts are the same in all NodeConfigs, and parsing is half the time of a NodeConfig. */
const ambiguous = new LRUCache<string, boolean>({ max: 1_000 });
const SHORT = 100;

/** Returns true for a text such as `yes` or `1_000`, which is not a text in YAML 1.1. */
function isAmbiguous(text: string): boolean {
  const known = ambiguous.get(text);
  if (known !== undefined) return known;
  const { contents } = parseDocument(text, { version: '1.1', logLevel: 'silent' });
  const result = isScalar(contents) && typeof contents.value !== 'string';
  if (text.length <= SHORT) ambiguous.set(text, result);
  return result;
}

/** Quotes texts that nodeadm would read as another type, because it reads YAML 1.1. */
function quoteWords(scalar: Scalar): void {
  if (typeof scalar.value === 'string' && isAmbiguous(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
}

/** EC2's limit of user data in bytes. Text that is not a MIME archive is included unchanged. */
const MOST_BYTES = 16_384;
/** Cached, because the templates of one launch share their custom user data. */
const classified = new LRUCache<string, boolean>({ max: 100 });

function isYamlDocument(text: string): boolean {
  const bytes = Buffer.byteLength(text);
  if (bytes > MOST_BYTES) throw new Error(`it has ${bytes} bytes, but EC2 allows ${MOST_BYTES}`);
  const isYaml = classified.get(text) ?? isMapping(text);
  classified.set(text, isYaml);
  return isYaml;
}

/**
 * Returns true if the text is a mapping or contains only comments, and is therefore a NodeConfig. Other texts are
 * scripts. Only the first document counts.
 */
function isMapping(text: string): boolean {
  const [document] = parseAllDocuments(text, { logLevel: 'silent', uniqueKeys: false });
  if (document === undefined) return true;
  if (document.errors.length > 0) return false;
  const { contents } = document;
  return contents === null || isMap(contents) || (isScalar(contents) && contents.value === null);
}

function customParts(custom: string | undefined): readonly MimePart[] {
  if (custom === undefined || custom === '') return [];
  try {
    if (!isMime(custom)) return [part(isYamlDocument(custom) ? NODE_CONFIG : SHELL_SCRIPT, custom)];
    return parseMime(custom).map((each) => part(contentType(each) ?? SHELL_SCRIPT, each.content));
  } catch (error) {
    throw new InvalidUserData(`parsing custom UserData, ${messageOf(error)}`, { cause: error });
  }
}

function certificateAuthority(bundle: string): string {
  if (!/^[A-Za-z0-9+/\s]*(?:={1,2}\s*)?$/.test(bundle))
    throw new InvalidUserData('decoding CABundle, it is not base64');
  return Buffer.from(bundle, 'base64').toString('base64');
}

function nodeConfig({ cluster, cidr, rawKubelet, taints, labels, raid0 }: Bootstrap): string {
  if (cidr === undefined) throw new NodeClassNotReady('generating NodeConfig, resolving cluster CIDR');
  const registerWithTaints = taints.map(({ key, value, effect }) => ({
    effect,
    key,
    ...((value ?? '') === '' ? {} : { value }),
  }));
  const flags = labelArgument(labels);
  const config = {
    apiVersion: 'node.eks.aws/v1alpha1',
    kind: 'NodeConfig',
    metadata: {},
    spec: {
      cluster: {
        name: cluster.name,
        apiServerEndpoint: cluster.endpoint,
        ...(cluster.caBundle === undefined ? {} : { certificateAuthority: certificateAuthority(cluster.caBundle) }),
        cidr,
      },
      containerd: {},
      instance: { localStorage: raid0 ? { strategy: 'RAID0' } : {} },
      kubelet: { config: { ...rawKubelet, registerWithTaints }, ...(flags.length === 0 ? {} : { flags }) },
    },
  };
  const document = new Document(config, { sortMapEntries: true });
  visit(document, { Scalar: (_, scalar) => quoteWords(scalar) });
  return `# Karpenter Generated NodeConfig\n${document.toString({ lineWidth: 0, indentSeq: false })}`;
}

/** @throws InvalidUserData, or NodeClassNotReady if the cluster's CIDR is unknown */
export const al2023UserData = (bootstrap: Bootstrap): string =>
  writeMime([...customParts(bootstrap.custom), part(NODE_CONFIG, nodeConfig(bootstrap))]);
