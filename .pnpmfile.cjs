/** Published packages have no sources, so their exports do not name them: that condition is for this repository. */
module.exports = {
  hooks: {
    beforePacking(manifest) {
      for (const entry of Object.values(manifest.exports ?? {})) delete entry['@spillway/source'];
      return manifest;
    },
  },
};
