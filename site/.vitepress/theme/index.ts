import type { Theme } from 'vitepress';
import theme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import limiters from '../../../docs/pictures/limiters.svg';
import './site.css';

const ALTERNATIVE =
  'A request passes four limiters: two load shedders reject with 503, two limits of a caller with 429';

/** Shows the picture of the four limiters on the home page, beside the title. */
export default {
  ...theme,
  Layout: () =>
    h(theme.Layout, null, {
      'home-hero-image': () => h('img', { class: 'limiters', src: limiters, alt: ALTERNATIVE }),
    }),
} satisfies Theme;
