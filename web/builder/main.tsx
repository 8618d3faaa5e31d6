import '../kit/theme.css';
import { mount } from '../kit/mount.tsx';
import { Builder } from './builder.tsx';

mount(<Builder />);
