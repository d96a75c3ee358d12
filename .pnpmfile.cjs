/** Published packages contain no sources, so this removes the export condition for sources from their exports. */
module.exports = {
  hooks: {
    beforePacking(manifest) {
      for (const entry of Object.values(manifest.exports ?? {})) delete entry['@spillway/source'];
      return manifest;
    },
  },
};
