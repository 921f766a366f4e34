import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { NodeOverlay, NodePool } from '#api/objects';
import { nodeOverlayErrors, nodePoolErrors } from '#api/validation';
import { readManifests, validateStored } from '#cli/testing';

const FOLDER = join(import.meta.dirname, '../../../examples/features');

describe('an example of a feature', () => {
  it.each(readdirSync(FOLDER))('is admitted by an API server: %s', (file) => {
    for (const manifest of readManifests([join(FOLDER, file)])) {
      const object = validateStored(manifest);
      if (object.kind === 'NodePool') expect(nodePoolErrors(object as NodePool)).toEqual([]);
      if (object.kind === 'NodeOverlay') expect(nodeOverlayErrors(object as NodeOverlay)).toEqual([]);
    }
  });
});
