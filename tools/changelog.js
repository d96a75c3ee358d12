/** What changesets writes into each CHANGELOG.md: the words of the changesets, and no commits. */

const PACKAGES = 'https://github.com/spillway/spillway/blob/main/packages';

/** A changeset as one item of a list, which may contain paragraphs and lists. */
export async function getReleaseLine({ summary }) {
  const lines = summary.trim().split('\n');
  return `- ${lines.join('\n  ').replace(/ +$/gm, '')}`;
}

/**
 * Where to read what changed in the packages that come with this one. Of a first version there is nothing to compare.
 */
export async function getDependencyReleaseLine(_changesets, updated) {
  const known = updated.filter(({ oldVersion }) => oldVersion !== '0.0.0');
  return known.map(({ name, newVersion }) => `- ${linkTo(name, newVersion)}`).join('\n');
}

function linkTo(name, version) {
  const folder = name.replace('@spillway/', '');
  return `Comes with [${name} ${version}](${PACKAGES}/${folder}/CHANGELOG.md).`;
}
