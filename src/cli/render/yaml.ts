/** YAML that stays the same value when control characters in it are escaped. */
import { type CreateNodeOptions, Document, type DocumentOptions, isScalar, type ToStringOptions, visit } from 'yaml';
import { escapeControls } from '../../observe/control-characters.ts';

/** People and tools that read the text need not support anchors. */
export function yamlText(value: unknown, options: ToStringOptions & DocumentOptions & CreateNodeOptions = {}): string {
  const document = new Document(value, { aliasDuplicateObjects: false, ...options });
  visit(document, {
    Scalar(_, node) {
      // escapes are read in double quotes alone
      if (isScalar(node) && typeof node.value === 'string' && escapeControls(node.value) !== node.value)
        node.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString(options);
}
