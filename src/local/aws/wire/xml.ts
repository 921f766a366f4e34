/** Encodes the XML responses of EC2 and of the query services. */
import type { Member, Shape } from './shape.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\r': '&#xD;',
};

export const escapeXml = (text: string): string => text.replace(/[&<>"'\r]/g, (character) => ENTITIES[character] ?? '');

/** Encodes the members of a structure without a surrounding element. */
export function encodeXml(shape: Shape, value: unknown): string {
  if (shape.kind !== 'structure') return '';
  return shape.members.map((member) => element(member, (value as Record<string, unknown>)[member.name])).join('');
}

function element(member: Member, value: unknown): string {
  if (value === undefined || value === null) return '';
  const name = member.xmlName ?? member.name;
  const { shape } = member;
  if (shape.kind === 'list' && member.flattened) {
    return (value as readonly unknown[]).map((item) => wrap(name, content(shape.item.shape, item))).join('');
  }
  return wrap(name, content(shape, value));
}

const wrap = (name: string, inner: string): string => (inner === '' ? `<${name}/>` : `<${name}>${inner}</${name}>`);

function content(shape: Shape, value: unknown): string {
  switch (shape.kind) {
    case 'structure':
      return encodeXml(shape, value);
    case 'list': {
      const name = shape.item.xmlName ?? 'member';
      return (value as readonly unknown[]).map((item) => wrap(name, content(shape.item.shape, item))).join('');
    }
    case 'map':
      return Object.entries(value as Record<string, unknown>)
        .map(([key, item]) => {
          const name = wrap(shape.key.xmlName ?? 'key', escapeXml(key));
          return `<entry>${name}${wrap(shape.value.xmlName ?? 'value', content(shape.value.shape, item))}</entry>`;
        })
        .join('');
    case 'timestamp':
      return (value as Date).toISOString();
    case 'blob':
      return Buffer.from(value as Uint8Array).toString('base64');
    default:
      return escapeXml(String(value));
  }
}
